#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace kvasir::store {

// Shows which of the processes that share a store are alive. Each process locks its own byte of one file; the
// system releases the lock however the process ends. Thread-safe.
class OwnerLocks {
 public:
  static base::Result<OwnerLocks> open(const std::filesystem::path& path);
  ~OwnerLocks();
  OwnerLocks(OwnerLocks&& other) noexcept;
  OwnerLocks& operator=(OwnerLocks&&) = delete;
  OwnerLocks(const OwnerLocks&) = delete;
  OwnerLocks& operator=(const OwnerLocks&) = delete;

  // Locks the number until this object dies. No other object may hold it.
  base::Status hold(std::int64_t number) const;
  // Whether another object holds the number.
  base::Result<bool> held(std::int64_t number) const;

 private:
  explicit OwnerLocks(int file) : file_(file) {}

  int file_;  // -1 once moved from
};

}  // namespace kvasir::store

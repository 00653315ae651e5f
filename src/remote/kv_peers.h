#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wire/kv_link.h"

namespace kvasir::remote {

// What became of the prompts that other workers have computed for this one, by worker. Thread-safe.
class KvPeers {
 public:
  enum class Outcome : std::uint8_t { came, failed };
  void note(const std::string& address, Outcome outcome);

  // The latest one first.
  std::shared_ptr<const std::vector<wire::KvLink>> links() const;
  // Grows with each note.
  std::uint64_t version() const;

 private:
  static constexpr std::size_t kMost = 64;  // beyond them the one that was noted longest ago is forgotten
  mutable std::mutex mutex_;
  std::list<wire::KvLink> links_;  // guarded by mutex_; the latest one first
  std::uint64_t version_ = 0;      // guarded by mutex_
};

}  // namespace kvasir::remote

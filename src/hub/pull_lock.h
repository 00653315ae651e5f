#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/result.h"

namespace kvasir::hub {

// Allows one pull of a model at a time, across threads and processes. It is an flock that is released when
// its holder dies. The empty file stays, since removing it would let two holders lock two files of the same
// name.
class PullLock {
 public:
  // Waits for the lock; calls `on_wait` once if somebody holds it.
  static base::Result<PullLock> acquire(const std::filesystem::path& path,
                                        const std::function<void()>& on_wait, std::stop_token stop);
  ~PullLock();
  PullLock(PullLock&& other) noexcept;
  PullLock& operator=(PullLock&&) = delete;

 private:
  explicit PullLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace kvasir::hub

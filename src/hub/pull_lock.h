#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/result.h"

namespace kvasir::hub {

// Allows one pull of a model at a time, across threads and processes. The lock is an flock, which the system
// releases when its holder dies. The empty file stays: if it were removed, two holders could lock two
// different files of the same name.
class PullLock {
 public:
  // Waits for the lock. Calls `on_wait` once if another pull holds it.
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

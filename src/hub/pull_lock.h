#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>

#include "base/result.h"

namespace kvasir::hub {

// One pull of a model at a time, across threads and processes: an flock that dies with its holder. The file
// stays, empty; removing it would let two holders lock two files of one name.
class PullLock {
 public:
  // Waits for the holder; calls `on_wait` once when there is one.
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

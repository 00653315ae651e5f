#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace kvasir::api {

// Counts the work under way, for which a server that drains waits. Thread-safe.
class BusyCount {
 public:
  // Counts one piece of work while it lives.
  class Hold {
   public:
    explicit Hold(BusyCount& count) : count_(count) {
      const std::lock_guard lock(count_.mutex_);
      ++count_.number_;
    }
    ~Hold() {
      const std::lock_guard lock(count_.mutex_);
      if (--count_.number_ == 0) count_.idle_.notify_all();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    BusyCount& count_;
  };

  int number() const {
    const std::lock_guard lock(mutex_);
    return number_;
  }
  // Blocks until no work is under way, for at most `at_most`. Returns false if some still is.
  bool wait_idle(base::Duration at_most) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, at_most, [this] { return number_ == 0; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  int number_ = 0;  // guarded by mutex_
};

}  // namespace kvasir::api

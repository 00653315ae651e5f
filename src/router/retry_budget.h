#pragma once

#include <algorithm>
#include <mutex>

#include "base/clock.h"

namespace kvasir::router {

// How many requests of a pool may begin again on other members: a token bucket. It holds one for each request
// that runs, and some more, so that a whole member may be lost at any time; it fills up within kFill_s. A
// request that kills one worker after the other, or workers that die as fast as they come, cannot make more
// work than that. Thread-safe.
class RetryBudget {
 public:
  static constexpr double kReserve = 32;
  static constexpr double kFill_s = 20;

  // Takes one. False: there is none, and the request has to fail.
  bool take(int num_running, base::TimePoint now) {
    const std::lock_guard lock(mutex_);
    const double most = kReserve + std::max(0, num_running);
    // The requests that came since the last call bring their own.
    level_ += std::max(0.0, most - most_);
    level_ = std::min(most, level_ + most * std::max(0.0, base::seconds(now - last_)) / kFill_s);
    most_ = most;
    last_ = now;
    if (level_ < 1) return false;
    --level_;
    return true;
  }
  // Gives back what `take` gave and nobody used.
  void give_back() {
    const std::lock_guard lock(mutex_);
    level_ = std::min(most_, level_ + 1);
  }

 private:
  std::mutex mutex_;
  double most_ = kReserve;   // guarded by mutex_; as of `last_`
  double level_ = kReserve;  // guarded by mutex_
  base::TimePoint last_;     // guarded by mutex_
};

}  // namespace kvasir::router

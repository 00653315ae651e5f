#pragma once

#include <algorithm>
#include <mutex>

#include "base/clock.h"

namespace kvasir::router {

// A token bucket that limits how many requests of a pool begin again on other members. It holds one token for
// each running request and kReserve more, so that a whole member may be lost at any time, and refills within
// kFill_s. This bounds the work that a request which kills its workers, or workers that keep dying, can
// cause. Thread-safe.
class RetryBudget {
 public:
  static constexpr double kReserve = 32;
  static constexpr double kFill_s = 20;

  // Takes a token. False: none is left, and the request has to fail.
  bool take(int num_running, base::TimePoint now) {
    const std::lock_guard lock(mutex_);
    const double most = kReserve + std::max(0, num_running);
    // Each request that came since the last call brings its own token.
    level_ += std::max(0.0, most - most_);
    level_ = std::min(most, level_ + most * std::max(0.0, base::seconds(now - last_)) / kFill_s);
    most_ = most;
    last_ = now;
    if (level_ < 1) return false;
    --level_;
    return true;
  }
  // Gives back a token that `take` gave and that was not used.
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

#pragma once

#include <chrono>
#include <deque>
#include <mutex>

#include "base/clock.h"

namespace kvasir::router {

// The prompts that one prefill worker was lately chosen to compute. A prompt reaches it by way of the member
// that answers, so the worker's reports count it only a while later; until then it is remembered here.
// Thread-safe.
class SentPrefills {
 public:
  // Covers the time that a request takes to get there and a report to come back.
  static constexpr std::chrono::milliseconds kRemembered{150};

  void add(base::TimePoint now, double seconds) {
    const std::lock_guard lock(mutex_);
    sent_.push_back({now, seconds});
    if (sent_.size() > kMost) sent_.pop_front();
  }
  double sum_s(base::TimePoint now) const {
    const std::lock_guard lock(mutex_);
    while (!sent_.empty() && now - sent_.front().at > kRemembered) sent_.pop_front();
    double sum = 0;
    for (const Sent& one : sent_) sum += one.seconds;
    return sum;
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Sent {
    base::TimePoint at;
    double seconds = 0;
  };
  mutable std::mutex mutex_;
  mutable std::deque<Sent> sent_;  // guarded by mutex_
};

}  // namespace kvasir::router

#pragma once

#include <chrono>
#include <deque>
#include <mutex>

#include "base/clock.h"

namespace kvasir::router {

// The prompts that other members were lately told to fetch from one. They come to it by way of those, so
// that its reports count them only a while later; until then they are remembered here. Thread-safe.
class SentPrefills {
 public:
  // As long as a report may take to come, and a request to get there.
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

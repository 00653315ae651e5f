#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace kvasir::obs {

// The ratio of good events in the last minutes. Counts in buckets of ten seconds, so its size is constant.
// Thread-safe. The clock outlives it.
class RecentRatio {
 public:
  static constexpr std::chrono::seconds kBucket{10};
  static constexpr int kNumBuckets = 30;
  static constexpr base::Duration kLongest = kBucket * kNumBuckets;  // five minutes

  explicit RecentRatio(const base::Clock& clock) : clock_(clock) {}

  void count_good() { count(1, 1); }
  void count_bad() { count(0, 1); }
  // Several events at once.
  void count(std::int64_t num_good, std::int64_t num_all);
  // The ratio of good events in the last `window`, a multiple of the bucket's length. The oldest bucket is
  // left out as a whole, so the time that is covered is up to ten seconds shorter, and never longer. NaN if
  // there was no event.
  double ratio(base::Duration window) const;

 private:
  struct Bucket {
    std::int64_t number = -1;  // index of its ten seconds, from the clock's beginning
    std::int64_t num_good = 0;
    std::int64_t num_all = 0;
  };

  std::int64_t number_now() const;
  // `lock` shows that the caller holds the mutex. Empties the bucket if its counts are from an earlier time.
  Bucket& current(const std::lock_guard<std::mutex>& lock);

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::array<Bucket, kNumBuckets> buckets_;  // guarded by mutex_
};

}  // namespace kvasir::obs

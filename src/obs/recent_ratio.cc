#include "obs/recent_ratio.h"

#include <limits>

#include "base/check.h"

namespace kvasir::obs {

std::int64_t RecentRatio::number_now() const {
  return clock_.now().time_since_epoch() / kBucket;
}

RecentRatio::Bucket& RecentRatio::current(const std::lock_guard<std::mutex>&) {
  const std::int64_t number = number_now();
  Bucket& bucket = buckets_[static_cast<std::size_t>(number % kNumBuckets)];
  if (bucket.number != number) bucket = {.number = number};
  return bucket;
}

void RecentRatio::count(std::int64_t num_good, std::int64_t num_all) {
  const std::lock_guard lock(mutex_);
  Bucket& bucket = current(lock);
  bucket.num_good += num_good;
  bucket.num_all += num_all;
}

double RecentRatio::ratio(base::Duration window) const {
  CHECK(window >= kBucket && window <= kLongest, "a window of {} s", base::seconds(window));
  const std::lock_guard lock(mutex_);
  const std::int64_t oldest = number_now() - window / kBucket + 1;
  std::int64_t num_good = 0;
  std::int64_t num_all = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number < oldest) continue;
    num_good += bucket.num_good;
    num_all += bucket.num_all;
  }
  if (num_all == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(num_good) / static_cast<double>(num_all);
}

}  // namespace kvasir::obs

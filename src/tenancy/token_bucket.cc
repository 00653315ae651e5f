#include "tenancy/token_bucket.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::tenancy {

namespace {

// A larger number would overflow when multiplied by a minute.
constexpr std::int64_t kMaxPerMinute = 100'000'000'000;

}  // namespace

std::int64_t TokenBucket::time_of(std::int64_t amount, std::int64_t per_minute) {
  per_minute = std::min(per_minute, kMaxPerMinute);
  const std::int64_t rest = amount % per_minute;
  return amount / per_minute * kMinuteUs + (rest * kMinuteUs + per_minute - 1) / per_minute;
}

std::int64_t TokenBucket::full_at(std::int64_t now_us) const {
  return std::clamp(full_at_us_, now_us, now_us + kMinuteUs);
}

std::int64_t TokenBucket::full_in_us(std::int64_t now_us) const {
  return full_at(now_us) - now_us;
}

std::int64_t TokenBucket::left(std::int64_t now_us, std::int64_t per_minute) const {
  return (kMinuteUs - full_in_us(now_us)) * std::min(per_minute, kMaxPerMinute) / kMinuteUs;
}

std::int64_t TokenBucket::wait_us(std::int64_t time_us, std::int64_t now_us) const {
  return std::max<std::int64_t>(0, full_in_us(now_us) + time_us - kMinuteUs);
}

void TokenBucket::notice(std::int64_t now_us) {
  full_at_us_ = std::min(full_at_us_, now_us + kMinuteUs);
}

void TokenBucket::take(std::int64_t time_us, std::int64_t now_us) {
  full_at_us_ = full_at(now_us) + time_us;
  for (Held& held : held_) held.after_us = std::max(held.after_us, now_us) + time_us;
}

void TokenBucket::reserve(std::uint64_t id, std::int64_t time_us, std::int64_t now_us) {
  take(time_us, now_us);
  held_.push_back({id, time_us, now_us});
}

void TokenBucket::settle(std::uint64_t id, std::int64_t used_us) {
  const auto it = std::ranges::lower_bound(held_, id, {}, &Held::id);
  CHECK(it != held_.end() && it->id == id, "reservation {} is not held", id);
  const std::int64_t unused_us = it->time_us - used_us;
  const std::int64_t after_us = it->after_us;
  full_at_us_ = std::max(full_at_us_ - unused_us, std::min(full_at_us_, after_us));
  // Earlier reservations have counted this one in their bounds.
  for (auto before = held_.begin(); before != it; ++before)
    before->after_us = std::max(before->after_us - unused_us, std::min(before->after_us, after_us));
  held_.erase(it);
}

}  // namespace kvasir::tenancy

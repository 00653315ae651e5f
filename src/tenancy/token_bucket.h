#pragma once

#include <cstdint>
#include <vector>

namespace kvasir::tenancy {

inline constexpr std::int64_t kMinuteUs = 60'000'000;

// A minute's worth of requests or tokens, refilled continuously, from which amounts are reserved and later
// settled to what was really used. Amounts are times: what the refill needs for them. So the whole state is
// the moment at which the bucket is full again, and it means the same after a restart.
//
// Invariant: the bucket stands where it would if every reservation had been what it counts now (its use once
// it is settled, all of it before). So what comes back is never more than what a full bucket would have let
// through: over any time t, what was granted counts for at most `per_minute * (1 + t / 1 min)`. Touched by
// one thread at a time.
class TokenBucket {
 public:
  explicit TokenBucket(std::int64_t full_at_us = 0) : full_at_us_(full_at_us) {}

  // Time that the refill needs for an amount, rounded up. At most 10^11 are refilled in a minute.
  static std::int64_t time_of(std::int64_t amount, std::int64_t per_minute);

  // What is in the bucket, rounded down.
  std::int64_t left(std::int64_t now_us, std::int64_t per_minute) const;
  // Until the bucket is full.
  std::int64_t full_in_us(std::int64_t now_us) const;
  // Until `time_us` fits, at most a minute's worth; 0: it does now.
  std::int64_t wait_us(std::int64_t time_us, std::int64_t now_us) const;

  // A clock that was set back must not keep the bucket empty for longer than a minute.
  void notice(std::int64_t now_us);
  // Takes what fits. Ids grow. O(reservations that are not settled).
  void reserve(std::uint64_t id, std::int64_t time_us, std::int64_t now_us);
  // Ends a reservation, counting `used_us` of it. O(reservations that are not settled).
  void settle(std::uint64_t id, std::int64_t used_us);

  // Takes what another bucket is short of.
  void take(std::int64_t time_us, std::int64_t now_us);

  std::int64_t full_at_us() const { return full_at_us_; }
  bool is_full(std::int64_t now_us) const { return full_at_us_ <= now_us && held_.empty(); }

 private:
  struct Held {
    std::uint64_t id;
    std::int64_t time_us;
    // When the bucket would be full again had it been full at the reservation and had this not been made: the
    // least that full_at_us_ may become by settling it.
    std::int64_t after_us;
  };

  std::int64_t full_at(std::int64_t now_us) const;

  std::int64_t full_at_us_;
  std::vector<Held> held_;  // by id
};

}  // namespace kvasir::tenancy

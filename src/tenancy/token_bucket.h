#pragma once

#include <cstdint>
#include <vector>

namespace kvasir::tenancy {

inline constexpr std::int64_t kMinuteUs = 60'000'000;

// A minute's worth of requests or tokens, refilled continuously. Amounts are reserved first and later settled
// to the real use. Amounts are stored as times: the time that the refill needs for them. So the whole state
// is the moment at which the bucket is full again, and it means the same after a restart.
//
// Invariant: the bucket is as full as if every reservation had been made with its final amount (the full
// amount until it is settled). So settling never returns more than a full bucket would have let through: over
// any time t, the grants count for at most `per_minute * (1 + t / 1 min)`. Touched by one thread at a time.
class TokenBucket {
 public:
  explicit TokenBucket(std::int64_t full_at_us = 0) : full_at_us_(full_at_us) {}

  // Time that the refill needs for an amount, rounded up. At most 10^11 are refilled per minute.
  static std::int64_t time_of(std::int64_t amount, std::int64_t per_minute);

  // The amount in the bucket, rounded down.
  std::int64_t left(std::int64_t now_us, std::int64_t per_minute) const;
  // Time until the bucket is full.
  std::int64_t full_in_us(std::int64_t now_us) const;
  // Time until `time_us`, at most a minute's worth, can be taken; 0: now.
  std::int64_t wait_us(std::int64_t time_us, std::int64_t now_us) const;

  // Handles a clock that was set back: the bucket must not stay empty for longer than a minute.
  void notice(std::int64_t now_us);
  // Takes an amount for which wait_us is 0. Ids must grow. O(reservations that are not settled).
  void reserve(std::uint64_t id, std::int64_t time_us, std::int64_t now_us);
  // Ends a reservation; only `used_us` of it counts. O(reservations that are not settled).
  void settle(std::uint64_t id, std::int64_t used_us);

  // Takes what another bucket had already used.
  void take(std::int64_t time_us, std::int64_t now_us);

  std::int64_t full_at_us() const { return full_at_us_; }
  bool is_full(std::int64_t now_us) const { return full_at_us_ <= now_us && held_.empty(); }

 private:
  struct Held {
    std::uint64_t id;
    std::int64_t time_us;
    // When the bucket would be full again if it had been full at the reservation and the reservation had not
    // been made. Settling it never moves full_at_us_ before this.
    std::int64_t after_us;
  };

  std::int64_t full_at(std::int64_t now_us) const;

  std::int64_t full_at_us_;
  std::vector<Held> held_;  // sorted by id
};

}  // namespace kvasir::tenancy

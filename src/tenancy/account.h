#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tenancy/calendar.h"
#include "tenancy/counters.h"
#include "tenancy/token_bucket.h"

namespace kvasir::tenancy {

// Tokens granted in one day or month.
struct Spending {
  std::int64_t period = 0;  // the day's or the month's number
  std::int64_t tokens = 0;
  std::int64_t held = 0;  // part of `tokens` that is reserved and not settled yet

  // Tokens of `now`'s period. A clock that was set back by less than one period changes nothing.
  std::int64_t in(std::int64_t now) const { return is_current(now) ? tokens : 0; }
  bool is_current(std::int64_t now) const { return period == now || period == now + 1; }
  void add(std::int64_t more, std::int64_t now) {
    if (!is_current(now)) *this = {.period = now};
    tokens += more;
  }
  void reserve(std::int64_t more, std::int64_t now) {
    add(more, now);
    held += more;
  }
  // Ends a reservation that was made in the period `then`.
  void settle(std::int64_t reserved, std::int64_t used, std::int64_t then) {
    if (period != then) return;
    tokens -= reserved - used;
    held -= reserved;
  }
};

// The part of an account that outlives the process. Reservations count in full.
struct AccountState {
  std::int64_t requests_full_at_us = 0;
  std::int64_t tokens_full_at_us = 0;
  Spending day;
  Spending month;
};

// One tenant's use of its limits. Invariant, unless requests use more than was granted: the tokens counted in
// a day or a month never exceed the budget, and those counted in any stretch of time never exceed the bound
// of the buckets. Touched by one thread at a time.
class Account {
 public:
  // What a request took from the limits. Pass it to `settle` or `give_back` exactly once.
  struct Taken {
    std::uint64_t id = 0;
    std::int64_t tokens = 0;
    std::int64_t requests_per_minute = 0;  // the tier's limit at that time
    std::int64_t tokens_per_minute = 0;
    int requests = 0;
    std::int64_t day = 0;  // the day whose budget was charged; -1: there is no such budget
    std::int64_t month = 0;

    // Whether any part of it is worth keeping when the process ends.
    bool lasting() const {
      return requests_per_minute > 0 || tokens_per_minute > 0 || day >= 0 || month >= 0;
    }
  };

  base::Result<Taken> reserve(const Tier& tier, const Cost& cost, const Moment& now);
  void settle(const Taken& taken, std::int64_t used_tokens);
  void give_back(const Taken& taken);
  Standings standings(const Tier& tier, std::int64_t now_us) const;

  AccountState state() const;
  // Adds what was counted elsewhere, as read from a journal.
  void add(const AccountState& other, const Moment& now);
  // True if forgetting the account loses nothing.
  bool forgettable(const Moment& now) const;

 private:
  std::int64_t tokens_left(const Tier& tier, const Moment& now) const;
  std::int64_t tokens_to_grant(const Tier& tier, const Cost& cost, const Moment& now) const;
  base::Status check(const Tier& tier, const Cost& cost, std::int64_t tokens, const Moment& now) const;

  TokenBucket requests_;
  TokenBucket tokens_;
  Spending day_;
  Spending month_;
  int num_inside_ = 0;
  std::uint64_t next_id_ = 1;
};

}  // namespace kvasir::tenancy

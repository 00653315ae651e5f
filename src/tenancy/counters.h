#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "tenancy/caller.h"
#include "tenancy/cost.h"

namespace kvasir::tenancy {

// A caller's state for one limit per minute. `limit` 0: there is no limit.
struct Standing {
  std::int64_t limit = 0;
  std::int64_t left = 0;
  std::int64_t full_in_us = 0;  // time until nothing is used any more
};

// A caller's state for a limit that is not refilled each minute. `limit` 0: there is no limit.
struct Spent {
  std::int64_t limit = 0;
  std::int64_t used = 0;
};

struct Standings {
  Standing requests;
  Standing tokens;
  Spent inside;  // requests that run or wait
  Spent day;     // tokens, including reserved ones
  Spent month;
};

// What one admitted request holds of its tenant's limits. If it is destroyed without being settled, the
// request never ran, and everything goes back. Touched by one thread at a time. May outlive its Counters.
class Reservation {
 public:
  virtual ~Reservation() = default;

  // Tokens that were granted; never more than the request asked for.
  virtual std::int64_t tokens() const = 0;
  // The request has ended and used so many tokens. Tokens beyond the granted ones count too. Call it once.
  virtual void settle(std::int64_t used_tokens) = 0;
};

// What the tenants have used of their tiers' limits. Thread-safe.
class Counters {
 public:
  virtual ~Counters() = default;

  // Takes from all limits of the caller's tier or from none. Null if the tier has no limits. Refuses with
  // `exhausted`; retry_after_s is negative if the request could never pass.
  virtual base::Result<std::unique_ptr<Reservation>> reserve(const Caller& caller, const Cost& cost) = 0;
  virtual Standings standings(const Caller& caller) const = 0;
};

// The most tokens that one request of the tier could ever get; 0: unlimited.
std::int64_t most_tokens(const Tier& tier);

}  // namespace kvasir::tenancy

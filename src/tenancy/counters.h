#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "tenancy/caller.h"
#include "tenancy/cost.h"

namespace kvasir::tenancy {

// How a caller stands with one limit of a minute. `limit` 0: there is none.
struct Standing {
  std::int64_t limit = 0;
  std::int64_t left = 0;
  std::int64_t full_in_us = 0;  // until all of it is there again
};

// What a caller has of a limit that no minute refills. `limit` 0: there is none.
struct Spent {
  std::int64_t limit = 0;
  std::int64_t used = 0;
};

struct Standings {
  Standing requests;
  Standing tokens;
  Spent inside;  // requests that run or wait
  Spent day;     // tokens, reserved ones included
  Spent month;
};

// What one admitted request holds of its tenant's limits. Destroyed without having been settled, it gives
// everything back: the request never ran. Touched by one thread at a time. May outlive its Counters.
class Reservation {
 public:
  virtual ~Reservation() = default;

  // Tokens that were granted, at most those asked for.
  virtual std::int64_t tokens() const = 0;
  // The request has ended and used so many tokens, of which those over the granted ones count too. Once.
  virtual void settle(std::int64_t used_tokens) = 0;
};

// What the tenants have used of their tiers' limits. Thread-safe.
class Counters {
 public:
  virtual ~Counters() = default;

  // All limits of the caller's tier, or none of them. Null where the tier has none. Refuses with `exhausted`,
  // and a negative retry_after_s where the request could never pass.
  virtual base::Result<std::unique_ptr<Reservation>> reserve(const Caller& caller, const Cost& cost) = 0;
  virtual Standings standings(const Caller& caller) const = 0;
};

// Tokens that a request of the tier could ever have; 0: as many as it wants.
std::int64_t most_tokens(const Tier& tier);

}  // namespace kvasir::tenancy

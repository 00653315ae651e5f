#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "tenancy/caller.h"
#include "tenancy/cost.h"
#include "tenancy/counters.h"

namespace kvasir::tenancy {

struct AdmissionLimits {
  int max_sequences = 0;             // whole server, for each of its models
  int max_sequences_per_tenant = 0;  // one tenant, for each model of the server
  int num_beside = 0;                // sequences that other servers take, added to both limits
  // Callers with a key of a lower priority than this leave an eighth of the places free.
  int top_priority = 0;
};

// A request's right to run, reserved in advance. A move-only value. Its destructor returns its places,
// however the request ended; if it was not settled, it also returns everything that it took from the tenant's
// limits. May outlive its Admission.
class Permit {
 public:
  Permit(Permit&&) noexcept = default;
  Permit& operator=(Permit&& other) noexcept;
  ~Permit();

  // Tokens that the request may use: its whole cost, or fewer if its cost said that fewer would do.
  std::int64_t tokens() const { return cost_.tokens; }
  // The request has ended and used so many tokens. The rest goes back to its tenant. Only the first call
  // counts.
  void settle(std::int64_t used_tokens);
  // The request never ran: everything that it took from the tenant's limits goes back.
  void give_back() { reservation_.reset(); }

 private:
  friend class Admission;
  struct Ledger;
  Permit(std::shared_ptr<Ledger> ledger, std::string flow, Cost cost);

  std::shared_ptr<Ledger> ledger_;  // null once moved from
  std::string flow_;
  Cost cost_;
  std::unique_ptr<Reservation> reservation_;  // null: no limits, or already settled
};

// Decides which requests may run. Thread-safe. Invariant: the load is the sum of the living permits' costs
// and never exceeds the limits.
class Admission {
 public:
  // Without `counters`, no limits of tiers are checked. `num_models` returns the current number of models and
  // may be called on any thread; if it is empty, there is one.
  explicit Admission(AdmissionLimits limits, std::shared_ptr<Counters> counters = nullptr,
                     std::function<int()> num_models = {});

  // Refuses with `exhausted` if a limit would be exceeded.
  base::Result<Permit> enter(const Caller& caller, Cost cost);

  Cost inside() const;
  Standings standings(const Caller& caller) const;

 private:
  AdmissionLimits limits_now() const;

  const AdmissionLimits limits_;
  const std::shared_ptr<Counters> counters_;
  const std::function<int()> num_models_;
  std::shared_ptr<Permit::Ledger> ledger_;
};

}  // namespace kvasir::tenancy

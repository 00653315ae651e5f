#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "tenancy/caller.h"
#include "tenancy/cost.h"

namespace kvasir::tenancy {

struct AdmissionLimits {
  int max_sequences = 0;             // in the whole server
  int max_sequences_per_tenant = 0;  // of one tenant
};

// A request's right to run, reserved in advance. A move-only value. Its destructor returns the reservation,
// however the request ended. May outlive its Admission.
class Permit {
 public:
  Permit(Permit&&) noexcept = default;
  Permit& operator=(Permit&& other) noexcept;
  ~Permit();

 private:
  friend class Admission;
  struct Ledger;
  Permit(std::shared_ptr<Ledger> ledger, std::string tenant, Cost cost);

  std::shared_ptr<Ledger> ledger_;  // null once moved from
  std::string tenant_;
  Cost cost_;
};

// Decides which requests may run. Thread-safe. Invariant: the load is the sum of the living permits' costs
// and never exceeds the limits.
class Admission {
 public:
  explicit Admission(AdmissionLimits limits);

  // Refuses with `exhausted` where the limits would be passed.
  base::Result<Permit> enter(const Caller& caller, Cost cost);

  Cost inside() const;

 private:
  const AdmissionLimits limits_;
  std::shared_ptr<Permit::Ledger> ledger_;
};

}  // namespace kvasir::tenancy

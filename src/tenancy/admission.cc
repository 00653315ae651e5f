#include "tenancy/admission.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace kvasir::tenancy {

using base::ErrorCode;

struct Permit::Ledger {
  std::mutex mutex;
  Cost total{.sequences = 0};          // guarded by mutex
  std::map<std::string, Cost> inside;  // guarded by mutex; only tenants with requests inside

  void give_back(const std::string& tenant, const Cost& cost) {
    const std::lock_guard lock(mutex);
    total.sequences -= cost.sequences;
    total.tokens -= cost.tokens;
    const auto it = inside.find(tenant);
    CHECK(it != inside.end() && it->second.sequences >= cost.sequences, "permit of {} not in the ledger",
          tenant);
    it->second.sequences -= cost.sequences;
    it->second.tokens -= cost.tokens;
    if (it->second.sequences == 0) inside.erase(it);
  }
};

Permit::Permit(std::shared_ptr<Ledger> ledger, std::string tenant, Cost cost)
    : ledger_(std::move(ledger)), tenant_(std::move(tenant)), cost_(cost) {}

Permit::~Permit() {
  if (ledger_) ledger_->give_back(tenant_, cost_);
}

Permit& Permit::operator=(Permit&& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(tenant_, other.tenant_);
  std::swap(cost_, other.cost_);
  return *this;
}

Admission::Admission(AdmissionLimits limits) : limits_(limits), ledger_(std::make_shared<Permit::Ledger>()) {}

base::Result<Permit> Admission::enter(const Caller& caller, Cost cost) {
  CHECK(cost.sequences > 0 && cost.tokens >= 0, "cost of {} sequences, {} tokens", cost.sequences,
        cost.tokens);
  {
    const std::lock_guard lock(ledger_->mutex);
    if (ledger_->total.sequences + cost.sequences > limits_.max_sequences)
      return base::Error{
          ErrorCode::exhausted,
          fmt::format(
              "the server is full: {} of {} places are taken, and the request needs {}; try again later",
              ledger_->total.sequences, limits_.max_sequences, cost.sequences),
          {},
          "rate_limit_exceeded",
          1};
    const auto it = ledger_->inside.find(caller.flow);
    const int own = it == ledger_->inside.end() ? 0 : it->second.sequences;
    if (own + cost.sequences > limits_.max_sequences_per_tenant)
      return base::Error{
          ErrorCode::exhausted,
          fmt::format("you have taken {} of your {} places, and the request needs {}; try again later", own,
                      limits_.max_sequences_per_tenant, cost.sequences),
          {},
          "rate_limit_exceeded",
          1};
    Cost& inside = ledger_->inside.try_emplace(caller.flow, Cost{.sequences = 0}).first->second;
    inside.sequences += cost.sequences;
    inside.tokens += cost.tokens;
    ledger_->total.sequences += cost.sequences;
    ledger_->total.tokens += cost.tokens;
  }
  return Permit(ledger_, caller.flow, cost);
}

Cost Admission::inside() const {
  const std::lock_guard lock(ledger_->mutex);
  return ledger_->total;
}

}  // namespace kvasir::tenancy

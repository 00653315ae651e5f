#include "tenancy/admission.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace kvasir::tenancy {

using base::ErrorCode;

namespace {

// Returns how many places this caller may fill: lower priorities leave an eighth to the highest one.
int places_of(const Caller& caller, const AdmissionLimits& limits) {
  const bool is_lower = !caller.key.empty() && caller.tier->priority < limits.top_priority;
  return is_lower ? limits.max_sequences - limits.max_sequences / 8 : limits.max_sequences;
}

}  // namespace

struct Permit::Ledger {
  std::mutex mutex;
  Cost total{.sequences = 0};          // guarded by mutex
  std::map<std::string, Cost> inside;  // by flow, only flows with requests inside; guarded by mutex

  base::Status take(const Caller& caller, const Cost& cost, const AdmissionLimits& limits);
  void give_back(const std::string& flow, const Cost& cost);
  void give_tokens_back(const std::string& flow, std::int64_t tokens) {
    if (tokens != 0) give_back(flow, {.sequences = 0, .tokens = tokens});
  }
};

base::Status Permit::Ledger::take(const Caller& caller, const Cost& cost, const AdmissionLimits& limits) {
  const std::string& flow = caller.flow;
  const int places = places_of(caller, limits);
  const std::lock_guard lock(mutex);
  if (total.sequences + cost.sequences > places)
    return base::Error{
        ErrorCode::exhausted,
        fmt::format(
            "the server is full: {} of {} places are taken, and the request needs {}; try again later",
            total.sequences, places, cost.sequences),
        {},
        "rate_limit_exceeded",
        1};
  const auto it = inside.find(flow);
  const int own = it == inside.end() ? 0 : it->second.sequences;
  if (own + cost.sequences > limits.max_sequences_per_tenant)
    return base::Error{
        ErrorCode::exhausted,
        fmt::format("you have taken {} of your {} places, and the request needs {}; try again later", own,
                    limits.max_sequences_per_tenant, cost.sequences),
        {},
        "rate_limit_exceeded",
        1};
  Cost& own_inside = inside.try_emplace(flow, Cost{.sequences = 0}).first->second;
  own_inside.sequences += cost.sequences;
  own_inside.tokens += cost.tokens;
  total.sequences += cost.sequences;
  total.tokens += cost.tokens;
  return base::ok();
}

void Permit::Ledger::give_back(const std::string& flow, const Cost& cost) {
  const std::lock_guard lock(mutex);
  total.sequences -= cost.sequences;
  total.tokens -= cost.tokens;
  const auto it = inside.find(flow);
  CHECK(it != inside.end() && it->second.sequences >= cost.sequences, "permit of {} not in the ledger", flow);
  it->second.sequences -= cost.sequences;
  it->second.tokens -= cost.tokens;
  if (it->second.sequences == 0) inside.erase(it);
}

Permit::Permit(std::shared_ptr<Ledger> ledger, std::string flow, Cost cost)
    : ledger_(std::move(ledger)), flow_(std::move(flow)), cost_(cost) {}

Permit::~Permit() {
  if (ledger_) ledger_->give_back(flow_, cost_);
}

Permit& Permit::operator=(Permit&& other) noexcept {
  std::swap(ledger_, other.ledger_);
  std::swap(flow_, other.flow_);
  std::swap(cost_, other.cost_);
  std::swap(reservation_, other.reservation_);
  return *this;
}

void Permit::settle(std::int64_t used_tokens) {
  if (reservation_) reservation_->settle(used_tokens);
  reservation_.reset();
}

Admission::Admission(AdmissionLimits limits, std::shared_ptr<Counters> counters,
                     std::function<int()> num_models)
    : limits_(limits),
      counters_(std::move(counters)),
      num_models_(std::move(num_models)),
      ledger_(std::make_shared<Permit::Ledger>()) {}

AdmissionLimits Admission::limits_now() const {
  AdmissionLimits limits = limits_;
  const int num_models = num_models_ ? std::max(1, num_models_()) : 1;
  limits.max_sequences = limits.max_sequences * num_models + limits.num_beside;
  limits.max_sequences_per_tenant = limits.max_sequences_per_tenant * num_models + limits.num_beside;
  return limits;
}

base::Result<Permit> Admission::enter(const Caller& caller, Cost cost) {
  CHECK(cost.sequences > 0 && cost.tokens >= 0, "cost of {} sequences, {} tokens", cost.sequences,
        cost.tokens);
  TRY_OK(ledger_->take(caller, cost, limits_now()));
  Permit permit(ledger_, caller.flow, cost);
  if (!counters_) return permit;
  TRY(permit.reservation_, counters_->reserve(caller, cost));
  if (!permit.reservation_) return permit;
  const std::int64_t granted = permit.reservation_->tokens();
  ledger_->give_tokens_back(caller.flow, cost.tokens - granted);
  permit.cost_.tokens = granted;
  return permit;
}

Cost Admission::inside() const {
  const std::lock_guard lock(ledger_->mutex);
  return ledger_->total;
}

Standings Admission::standings(const Caller& caller) const {
  return counters_ ? counters_->standings(caller) : Standings{};
}

}  // namespace kvasir::tenancy

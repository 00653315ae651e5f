#include "sched/outlook.h"

#include <algorithm>
#include <functional>

#include "kv/block.h"
#include "sched/planner.h"
#include "sched/reachable_slo.h"

namespace kvasir::sched {

namespace {

// The most prompts that an outlook tells one by one.
constexpr std::size_t kMostPrompts = 256;
// Fewer arrivals say nothing of how many are to come.
constexpr std::size_t kLeastArrivals = 16;

void add_running(const Sequence& sequence, Outlook& outlook) {
  std::vector<RunningClass>& running = outlook.running;
  if (running.empty() || running.back().priority != sequence.request.priority)
    running.push_back({.priority = sequence.request.priority});
  RunningClass& of = running.back();
  if (sequence.num_pending() <= 1) {
    ++of.num_streams;
    of.kv_tokens += sequence.num_tokens();
  } else {
    ++of.num_prompts;
    of.prompt_tokens += sequence.num_pending();
    outlook.prompts.push_back({.tenant = sequence.share->account->tenant_hash,
                               .priority = of.priority,
                               .num_left = sequence.num_pending(),
                               .runs = true});
  }
}

double lowest_charge(const Shares::Class& of) {
  double lowest = 0;
  bool any = false;
  for (const auto& [name, account] : of.accounts) {
    if (account->num_live == 0) continue;
    lowest = any ? std::min(lowest, account->charge) : account->charge;
    any = true;
  }
  return lowest;
}

void add_lines(const Shares::Class& of, int priority, std::vector<WaitingLine>& lines) {
  for (const auto& [name, account] : of.accounts)
    if (!account->waiting.empty())
      lines.push_back({.tenant = account->tenant_hash,
                       .priority = priority,
                       .charge = account->charge,
                       .weight = account->weight,
                       .num_tokens = static_cast<double>(account->waiting_tokens),
                       .num_sequences = static_cast<int>(account->waiting.size())});
}

}  // namespace

std::uint64_t tenant_hash(std::string_view tenant) {
  return std::hash<std::string_view>{}(tenant);
}

void RecentPrompts::add(double now_s, int num_tokens) {
  const Arrival arrival{now_s, num_tokens};
  if (arrivals.size() < kMost) {
    arrivals.push_back(arrival);
  } else {
    arrivals[next] = arrival;
    next = (next + 1) % kMost;
  }
}

double RecentPrompts::shorter_per_s(double now_s, double num_tokens) const {
  if (arrivals.size() < kLeastArrivals) return 0;
  double sum = 0;
  for (const Arrival& arrival : arrivals)
    if (arrival.num_tokens < num_tokens) sum += arrival.num_tokens;
  return sum / std::max(now_s - arrivals[next].at_s, 1e-3);
}

Outlook make_outlook(const SchedulerState& state) {
  const SchedulerOptions& o = state.options;
  Outlook outlook{.cost = state.cost,
                  .slo = tightened_slo(state.cost, o.max_batch_sequences, o.least_slo, o.slo),
                  .short_s = o.short_step_s,
                  .fixed_step_s = o.target_step_s,
                  .prefill_share = o.prefill_share,
                  .max_batch_tokens = o.max_batch_tokens,
                  .max_sequences = std::min(o.max_batch_sequences, o.max_batch_tokens),
                  .num_free_tokens = static_cast<double>(state.pool.num_available()) * kv::kBlockTokens};
  for (const Sequence* sequence : state.running) add_running(*sequence, outlook);
  for (RunningClass& of : outlook.running) {
    const auto found = state.shares.classes().find(of.priority);
    if (found != state.shares.classes().end()) of.lowest_charge = lowest_charge(found->second);
  }
  for (const auto& [priority, of] : state.shares.classes()) {
    if (of.num_live > 0 || state.busy_s - of.last_s < kExpectHigher_s)
      outlook.highest_recent = std::max(outlook.highest_recent, priority);
    add_lines(of, priority, outlook.waiting);
  }
  for (const Sequence* sequence : state.waiting) {
    if (outlook.prompts.size() >= kMostPrompts) break;
    outlook.waited_s = std::max(outlook.waited_s, state.busy_s - sequence->arrived_s);
    outlook.prompts.push_back({.tenant = sequence->share->account->tenant_hash,
                               .priority = sequence->request.priority,
                               .num_left = sequence->num_to_compute});
  }
  return outlook;
}

}  // namespace kvasir::sched

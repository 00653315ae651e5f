#include "sched/outlook.h"

#include <algorithm>

#include "kv/block.h"
#include "sched/planner.h"
#include "sched/reachable_slo.h"

namespace kvasir::sched {

namespace {

// The most prompts that an outlook lists one by one.
constexpr std::size_t kMostPrompts = 256;
// With fewer arrivals, there is no estimate of how many are to come.
constexpr std::size_t kLeastArrivals = 16;

void add_running(const Sequence& sequence, Outlook& outlook) {
  std::vector<RunningClass>& running = outlook.running;
  const Account& account = *sequence.share->account;
  if (running.empty() || running.back().priority != account.priority)
    running.push_back({.priority = account.priority, .lowest_charge = account.charge});
  RunningClass& of = running.back();
  of.lowest_charge = std::min(of.lowest_charge, account.charge);
  if (sequence.num_pending() <= 1) {
    ++of.num_streams;
    of.kv_tokens += sequence.num_tokens();
  } else {
    ++of.num_prompts;
    of.prompt_tokens += sequence.num_pending();
    outlook.prompts.push_back({.tenant = sequence.tenant,
                               .priority = of.priority,
                               .num_left = sequence.num_pending(),
                               .runs = true});
  }
}

double lowest_charge(const std::vector<WaitingLine>& lines, const RunningClass& of) {
  double lowest = of.lowest_charge;
  for (const WaitingLine& line : lines)
    if (line.priority == of.priority) lowest = std::min(lowest, line.charge);
  return lowest;
}

void add_waiting(const SchedulerState& state, Outlook& outlook) {
  const std::size_t num_running = outlook.prompts.size();
  if (num_running >= kMostPrompts) return;
  const std::size_t count = std::min(state.waiting.size(), kMostPrompts - num_running);
  outlook.prompts.resize(num_running + count);
  double earliest_s = state.busy_s;
  for (std::size_t i = 0; i < count; ++i) {
    const Sequence& sequence = *state.waiting[i];
    earliest_s = std::min(earliest_s, sequence.arrived_s);
    outlook.prompts[num_running + i] = {.tenant = sequence.tenant,
                                        .priority = sequence.request.priority,
                                        .num_left = sequence.num_to_compute};
  }
  outlook.waited_s = state.busy_s - earliest_s;
}

}  // namespace

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
    if (arrival.num_tokens <= num_tokens) sum += arrival.num_tokens;
  return sum / std::max(now_s - arrivals[next].at_s, 1e-3);
}

Outlook make_outlook(const SchedulerState& state) {
  const SchedulerOptions& o = state.options;
  Outlook outlook{.cost = state.cost,
                  .slo = tightened_slo(state.cost, o.max_batch_sequences, o.least_slo, o.slo),
                  .order_ttft_s = o.slo.ttft_s,
                  .short_s = o.short_step_s,
                  .fixed_step_s = o.target_step_s,
                  .prefill_share = o.prefill_share,
                  .max_batch_tokens = o.max_batch_tokens,
                  .max_sequences = std::min(o.max_batch_sequences, o.max_batch_tokens),
                  .num_free_tokens = static_cast<double>(state.pool.num_available()) * kv::kBlockTokens};
  for (const Sequence* sequence : state.running) add_running(*sequence, outlook);
  for (const auto& [priority, of] : state.shares.classes()) {
    if (of.num_live > 0 || state.busy_s - of.last_s < kExpectHigher_s)
      outlook.highest_recent = std::max(outlook.highest_recent, priority);
    outlook.waiting.insert(outlook.waiting.end(), of.lines.begin(), of.lines.end());
  }
  for (RunningClass& of : outlook.running) of.lowest_charge = lowest_charge(outlook.waiting, of);
  add_waiting(state, outlook);
  return outlook;
}

}  // namespace kvasir::sched

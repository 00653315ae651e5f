#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/shares.h"
#include "sched/step_cost.h"
#include "sched/step_length.h"
#include "wire/forecast.h"

namespace kvasir::sched {

struct SchedulerState;

// One prompt that waits or is partly computed.
struct AwaitedTokens {
  std::uint64_t tenant = 0;
  int priority = 0;
  int num_left = 0;
  bool runs = false;
};

// The prompts that came last, for an estimate of how many are still to come.
struct RecentPrompts {
  static constexpr std::size_t kMost = 64;
  struct Arrival {
    double at_s = 0;  // on the clock of Scheduler::set_now
    int num_tokens = 0;
  };
  std::vector<Arrival> arrivals;  // at most kMost, a ring
  std::size_t next = 0;           // index of the oldest one

  void add(double now_s, int num_tokens);
  // Tokens per second that came in prompts of at most `num_tokens`. 0 if too few prompts came to estimate it.
  double shorter_per_s(double now_s, double num_tokens) const;
};

// The running sequences of one priority.
struct RunningClass {
  int priority = 0;
  int num_streams = 0;
  std::int64_t kv_tokens = 0;  // tokens that the streams attend to
  double prompt_tokens = 0;    // still to compute, of partly computed prompts
  int num_prompts = 0;
  double lowest_charge = 0;  // of its tenants; a new tenant starts there
};

// The part of a scheduler's state that decides how long a new request will take. A value that other threads
// may read.
struct Outlook {
  StepCost cost;
  Slo slo;
  double order_ttft_s = 0;  // the TTFT SLO by which prompts are ordered, see most_small_tokens
  double short_s = 0;       // longest step while no prompt is in a hurry
  double fixed_step_s = 0;  // > 0: the target of every step, whose length is then not chosen
  double prefill_share = 0;
  int max_batch_tokens = 0;
  int max_sequences = 0;
  double num_free_tokens = 0;  // room in the KV cache
  double mean_tail = 0;        // mean tokens that recent prompts found in a partly filled block
  double mean_output = 1;      // mean tokens of answers that ended lately
  double waited_s = 0;         // waiting time of the prompt that waits longest
  int highest_recent = 0;      // highest priority that had sequences lately
  double in_flight_s = 0;      // until the begun steps end; the other fields count them as done
  double now_s = 0;            // on the clock of Scheduler::set_now
  RecentPrompts recent;
  std::vector<AwaitedTokens> prompts;  // some hundreds at most, the running ones first
  std::vector<RunningClass> running;   // by priority, the highest first
  std::vector<WaitingLine> waiting;
};

// Fills everything but `mean_tail`, `mean_output`, `recent`, `now_s` and `in_flight_s`.
Outlook make_outlook(const SchedulerState& state);

// Simulates the next steps roughly, with this request among the others. The outlook is `since_s` old, and
// `arrivals` came after it was made. `num_cached` tokens of the request's first prompt need not be computed.
wire::Forecast forecast(const Outlook& outlook, std::span<const WaitingLine> arrivals,
                        const wire::Outline& outline, int num_cached, double since_s);

}  // namespace kvasir::sched

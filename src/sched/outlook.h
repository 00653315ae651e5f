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

// Prompts that came lately, so that one can tell how many are still to come.
struct RecentPrompts {
  static constexpr std::size_t kMost = 64;
  struct Arrival {
    double at_s = 0;  // on the clock of Scheduler::set_now
    int num_tokens = 0;
  };
  std::vector<Arrival> arrivals;  // at most kMost, a ring
  std::size_t next = 0;           // the oldest one, once the ring is full

  void add(double now_s, int num_tokens);
  // Tokens a second of prompts that are no longer than this.
  double shorter_per_s(double now_s, double num_tokens) const;
};

// The sequences of one priority that run.
struct RunningClass {
  int priority = 0;
  int num_streams = 0;
  std::int64_t kv_tokens = 0;  // that the streams attend to
  double prompt_tokens = 0;    // of prompts that are partly computed, those still to compute
  int num_prompts = 0;
  double lowest_charge = 0;  // of its tenants, where a newcomer starts
};

// The part of a scheduler's state that decides how long a new request will take. A value that other threads
// may read.
struct Outlook {
  StepCost cost;
  Slo slo;
  double order_ttft_s = 0;  // the SLO by which prompts are put in order, see most_small_tokens
  double short_s = 0;       // longest step while no prompt is in a hurry
  double fixed_step_s = 0;  // > 0: a step's length is not chosen
  double prefill_share = 0;
  int max_batch_tokens = 0;
  int max_sequences = 0;
  double num_free_tokens = 0;  // of the KV cache
  double mean_tail = 0;        // tokens of a prompt that lately were found in a partly filled block
  double mean_output = 1;      // tokens of answers that ended lately
  double waited_s = 0;         // by the prompt that waits longest
  int highest_recent = 0;      // priority of the highest class that was here lately
  double in_flight_s = 0;      // until the begun steps end, which the rest counts as done
  double now_s = 0;            // on the clock of Scheduler::set_now
  RecentPrompts recent;
  std::vector<AwaitedTokens> prompts;  // some hundreds at most, the running ones first
  std::vector<RunningClass> running;   // by priority, the highest first
  std::vector<WaitingLine> waiting;
};

// Everything but `mean_tail`, `mean_output`, `recent`, `now_s` and `in_flight_s`.
Outlook make_outlook(const SchedulerState& state);

// Plays the next steps roughly, with this request among the others. `arrivals` came after the outlook was
// made, which is `since_s` old. `num_cached` tokens of the request's first prompt need not be computed.
wire::Forecast forecast(const Outlook& outlook, std::span<const WaitingLine> arrivals,
                        const wire::Outline& outline, int num_cached, double since_s);

}  // namespace kvasir::sched

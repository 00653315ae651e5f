#pragma once

#include <span>
#include <vector>

#include "sched/planner.h"
#include "sched/sequence.h"

namespace kvasir::sched {

// A sequence that has more than one token to compute, as it stands at a plan.
struct Prompt {
  const Sequence* sequence = nullptr;
  int num_left = 0;        // tokens to compute, without those that the prefix tree has
  bool is_stream = false;  // it has answered already: it was preempted, or a grammar gave it several tokens
  AwaitedPrompt awaited;
};

Prompt judge(const SchedulerState& state, const Sequence& sequence);

// The order of service: priority, streams, and then the least left, which serves whole prompts one after
// another and brings the most of them to their first token soonest. The planner has a share for the first in
// rank, so that a long prompt is not held up for ever.
bool is_served_before(const Prompt& a, const Prompt& b);

// The waiting sequences in the order of service, after the first in rank.
std::vector<Prompt> waiting_in_order(const SchedulerState& state);

}  // namespace kvasir::sched

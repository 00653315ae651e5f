#pragma once

#include <span>
#include <vector>

#include "sched/planner.h"
#include "sched/sequence.h"

namespace kvasir::sched {

// Where a sequence with more than one token to compute stands; the first is served first.
enum class Standing {
  stream,  // has answered already: it was preempted, or a grammar gave it several tokens
  timely,  // its first token can still come in time
  late,    // it cannot
};

// A sequence that has more than one token to compute, as it stands at a plan.
struct Prompt {
  const Sequence* sequence = nullptr;
  int num_left = 0;  // tokens to compute, without those that the prefix tree has
  Standing standing = Standing::timely;
  AwaitedPrompt awaited;
};

Prompt judge(const SchedulerState& state, const Sequence& sequence);

// The order of service: priority, standing, and then the least left, which serves whole prompts one after
// another and brings the most of them to their first token soonest. Only a sequence that is before all others
// by rank is not held up by any of this: the planner has a share for it.
bool is_served_before(const Prompt& a, const Prompt& b);

// The waiting sequences in the order of service, after the first in rank.
std::vector<Prompt> waiting_in_order(const SchedulerState& state);

}  // namespace kvasir::sched

#pragma once

#include <span>
#include <vector>

#include "sched/planner.h"
#include "sched/sequence.h"

namespace kvasir::sched {

// A sequence with more than one token to compute, as of one plan.
struct Prompt {
  const Sequence* sequence = nullptr;
  int num_left = 0;        // tokens to compute, without those in the prefix tree
  bool is_stream = false;  // it has output already: it was preempted, or a grammar forced several tokens
  AwaitedPrompt awaited;
};

Prompt judge(const SchedulerState& state, const Sequence& sequence);

// The order of service: by priority, then streams before prompts, then by the least work left. Short work
// first brings the most prompts to their first token soonest. The planner reserves a share for the first in
// rank, so a long prompt is not delayed for ever.
bool is_served_before(const Prompt& a, const Prompt& b);

// Whether `waiting` should let `running` compute a prefix that both begin with: that one is of a higher
// class, or of a tenant that was not charged more, apart from the public prefix itself. A tenant is not made
// to wait for one that is served after it.
bool may_rely_on(const Sequence& running, const Sequence& waiting);

// The waiting sequences: the first in rank, then the others in the order of service.
std::vector<Prompt> waiting_in_order(const SchedulerState& state);

}  // namespace kvasir::sched

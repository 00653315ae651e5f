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
  double size = 0;         // of what is left, see prompt_size
  bool is_stream = false;  // it has output already: it was preempted, or a grammar forced several tokens
  AwaitedPrompt awaited;
};

inline constexpr double kSizeFactor = 4;

// The most tokens of a small prompt: it takes at most a quarter of the SLO for the first token. Without an
// SLO none is small.
// `num_waiting` counts the tokens of waiting prompts of the class and of higher ones.
double most_small_tokens(const StepCost& cost, double slo_ttft_s, double num_waiting);
double most_small_tokens(const SchedulerState& state, int priority);
// The size by which prompts are served: 0 for small ones, then one more for every kSizeFactor. To serve the
// shorter of two similar prompts first gains little, and nobody's first token could be foretold, since
// somebody shorter might always come. Where none is small it is `num_tokens`.
double prompt_size(double most_small, double num_tokens);

Prompt judge(const SchedulerState& state, const Sequence& sequence);
// The same where most_small_tokens is known.
Prompt judge(const SchedulerState& state, const Sequence& sequence, double most_small);

// The order of service: by priority, then streams before prompts, then by size. Short work
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

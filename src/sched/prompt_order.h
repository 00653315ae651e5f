#pragma once

#include <span>
#include <vector>

#include "sched/planner.h"
#include "sched/sequence.h"

namespace kvasir::sched {

// A sequence with more than one token to compute, as one plan sees it.
struct Prompt {
  const Sequence* sequence = nullptr;
  int num_left = 0;        // tokens to compute, without those in the prefix tree
  double size = 0;         // of what is left, see prompt_size
  bool is_stream = false;  // it has output already: it was preempted, or a grammar forced several tokens
  AwaitedPrompt awaited;
};

inline constexpr double kSizeFactor = 4;

// The most tokens that a small prompt may have: computing it takes at most a quarter of the SLO for the first
// token. No prompt is small (0) without an SLO, or if the waiting prompts need more than half of it.
// `num_waiting` counts the tokens of waiting prompts of the class and of higher ones.
double most_small_tokens(const StepCost& cost, double slo_ttft_s, double num_waiting);
double most_small_tokens(const SchedulerState& state, int priority);
// The size by which prompts are served: 0 for small ones, then one more for every factor kSizeFactor. Sizes
// are that coarse because serving the shorter of two similar prompts first gains little, and no first token
// could be forecast if any shorter prompt could still overtake. If no prompt is small, the size is
// `num_tokens`.
double prompt_size(double most_small, double num_tokens);

Prompt judge(const SchedulerState& state, const Sequence& sequence);
// As above, for a caller that knows most_small_tokens already.
Prompt judge(const SchedulerState& state, const Sequence& sequence, double most_small);

// The order of service: by priority, then streams before prompts, then by the tenants' charges, then by the
// number within the request, then by size. Serving short work first brings the most prompts to their first
// token soonest. The planner reserves a share for the first in rank, so a long prompt is not delayed for
// ever.
bool is_served_before(const Prompt& a, const Prompt& b);

// Whether `waiting` should wait for `running` to compute a prefix that both begin with: `running` is of a
// higher class, or of a tenant that was not charged more, apart from the public prefix itself. So no tenant
// waits for one that is served after it.
bool may_rely_on(const Sequence& running, const Sequence& waiting);

// The waiting sequences, the highest class first. Within a class, the tenant with the lowest charge is next.
// Within a tenant, the first in rank comes first, then the others in the order of service.
std::vector<Prompt> waiting_in_order(const SchedulerState& state);

}  // namespace kvasir::sched

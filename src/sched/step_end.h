#pragma once

#include <vector>

#include "sched/grant.h"
#include "sched/planner.h"
#include "sched/step_cost.h"

namespace kvasir::sched {

// A step's prompt rows, cut into two parts; the second part can wait for the next step. Each part includes
// the rows of all streams.
struct Cut {
  StepLoad kept;
  StepLoad left;
  StepLoad whole;
  int num_ended = 0;    // prompts that end in the first part, and get their first token sooner
  int num_waiting = 0;  // all others, which wait for one step more
};

// The seconds by which the cut brings first tokens sooner, summed over the prompts; negative if the cut does
// not pay. It pays where rows cost more than the step itself: a CPU with a small model computes prompts one
// by one, and a GPU many at once.
double gain_s(const StepCost& cost, const Cut& cut);

// Takes away the rows of prompts that would delay the first tokens of others and gain nothing. The first in
// rank keeps its rows. `streams` is the load beside the prompts, and `num_waiting` counts prompts without a
// grant.
void end_with_prompts(const SchedulerState& state, const StepLoad& streams, int num_waiting,
                      std::vector<Grant>& prefills);

}  // namespace kvasir::sched

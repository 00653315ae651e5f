#pragma once

#include <span>

#include "sched/grant.h"
#include "sched/step_plan.h"

namespace kvasir::sched {

// Slices are in the order in which their blocks were chosen, so that leaves are evicted first.
StepPlan write_plan(std::span<Grant* const> grants, std::span<const Sequence* const> preempted);

}  // namespace kvasir::sched

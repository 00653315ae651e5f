#pragma once

#include <string>

#include "sched/step_cost.h"
#include "sched/step_length.h"

namespace kvasir::sched {

// What people notice no delay of: half a second to the first token, and twenty tokens a second.
inline constexpr Slo kWantedSlo{.ttft_s = 0.5, .tpot_s = 0.05};

struct ReachableSlo {
  Slo slo;
  Slo least;           // how far they may fall once the device proves faster; the parts asked for do not
  std::string reason;  // a sentence for each part that is more than wanted; empty: none is
};

// The wanted SLOs, or what the device can do in their place: it is to serve `max_sequences` streams at once
// with some time left for prompts, and a prompt of ordinary length beside some others. A part of `asked` that
// is not 0 stays as it is.
ReachableSlo reachable_slo(const StepCost& cost, int max_sequences, const Slo& asked);

// What the device can do by what its cost is known to be now, from `least` to `most`: a server that started
// beside a busy neighbour does not aim low for ever. Where a part of `least` is 0, that of `most` stays.
Slo tightened_slo(const StepCost& cost, int max_sequences, const Slo& least, const Slo& most);

}  // namespace kvasir::sched

#pragma once

#include <string>

#include "sched/step_cost.h"
#include "sched/step_length.h"

namespace kvasir::sched {

// Delays that people do not notice: half a second to the first token, and twenty tokens a second.
inline constexpr Slo kWantedSlo{.ttft_s = 0.5, .tpot_s = 0.05};

struct ReachableSlo {
  Slo slo;
  Slo least;           // how far `slo` may fall if the device proves faster; equal to it where asked for
  std::string reason;  // a phrase for each part that exceeds the wanted SLO; empty: none does
};

// The wanted SLOs, or the best that the device can do: it must serve `max_sequences` streams at once with
// some time left for prompts, and a prompt of ordinary length beside some others. Parts of `asked` that are
// not 0 are used as they are.
ReachableSlo reachable_slo(const StepCost& cost, int max_sequences, const Slo& asked);

// The SLOs that the device can reach with its present cost, between `least` and `most`, so that a server that
// started beside a busy neighbour does not keep its modest SLOs for ever. If a part of `least` is 0, that
// part of `most` stays.
Slo tightened_slo(const StepCost& cost, int max_sequences, const Slo& least, const Slo& most);

}  // namespace kvasir::sched

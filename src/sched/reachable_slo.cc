#include "sched/reachable_slo.h"

#include <fmt/format.h>

#include <algorithm>

namespace kvasir::sched {

namespace {

// A step of all streams with prompts may take this many times as long as without prompts.
constexpr double kPromptsBeside = 1.7;
constexpr int kOrdinaryPrompt = 256;
// A prompt beside others may take this many times as long as alone.
constexpr double kOthersBeside = 3;

double streams_s(const StepCost& cost, int max_sequences) {
  return cost.predict_s({.decode_sequences = max_sequences});
}

double prompt_s(const StepCost& cost) {
  StepLoad prompt;
  prompt.add(0, kOrdinaryPrompt);
  return cost.predict_s(prompt);
}

// The SLO is tightened only if the device proves at least this much faster. A smaller difference may be a
// prediction error, and the SLO printed at the start stays.
constexpr double kBusyStart = 0.8;

double tightened(double reached_s, double least_s, double most_s) {
  return least_s > 0 && reached_s < kBusyStart * most_s
             ? std::clamp(reached_s, least_s, std::max(least_s, most_s))
             : most_s;
}

}  // namespace

ReachableSlo reachable_slo(const StepCost& cost, int max_sequences, const Slo& asked) {
  ReachableSlo reached{.slo = kWantedSlo, .least = kWantedSlo};
  const double all_s = streams_s(cost, max_sequences);
  const double one_s = prompt_s(cost);
  if (asked.ttft_s > 0) {
    reached.slo.ttft_s = reached.least.ttft_s = asked.ttft_s;
  } else if (one_s * kOthersBeside > kWantedSlo.ttft_s) {
    reached.slo.ttft_s = one_s * kOthersBeside;
    reached.reason = fmt::format("a prompt of {} tokens takes {:.0f} ms", kOrdinaryPrompt, one_s * 1e3);
  }
  if (asked.tpot_s > 0) {
    reached.slo.tpot_s = reached.least.tpot_s = asked.tpot_s;
  } else if (all_s * kPromptsBeside > kWantedSlo.tpot_s) {
    reached.slo.tpot_s = all_s * kPromptsBeside;
    reached.reason += fmt::format("{}a step of {} streams takes {:.0f} ms",
                                  reached.reason.empty() ? "" : ", ", max_sequences, all_s * 1e3);
  }
  return reached;
}

Slo tightened_slo(const StepCost& cost, int max_sequences, const Slo& least, const Slo& most) {
  return {.ttft_s = tightened(prompt_s(cost) * kOthersBeside, least.ttft_s, most.ttft_s),
          .tpot_s = tightened(streams_s(cost, max_sequences) * kPromptsBeside, least.tpot_s, most.tpot_s)};
}

}  // namespace kvasir::sched

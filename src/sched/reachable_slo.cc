#include "sched/reachable_slo.h"

#include <fmt/format.h>

namespace kvasir::sched {

namespace {

// Times that a step of all streams may take as long as it does by itself, prompts included.
constexpr double kPromptsBeside = 1.95;
constexpr int kOrdinaryPrompt = 256;
// Times that a prompt may take as long as it does alone.
constexpr double kOthersBeside = 3;

}  // namespace

ReachableSlo reachable_slo(const StepCost& cost, int max_sequences, const Slo& asked) {
  ReachableSlo reached{.slo = kWantedSlo};
  const double streams_s = cost.predict_s({.decode_sequences = max_sequences});
  StepLoad prompt;
  prompt.add(0, kOrdinaryPrompt);
  const double prompt_s = cost.predict_s(prompt);
  if (asked.ttft_s > 0) {
    reached.slo.ttft_s = asked.ttft_s;
  } else if (prompt_s * kOthersBeside > kWantedSlo.ttft_s) {
    reached.slo.ttft_s = prompt_s * kOthersBeside;
    reached.reason = fmt::format("a prompt of {} tokens takes {:.0f} ms", kOrdinaryPrompt, prompt_s * 1e3);
  }
  if (asked.tpot_s > 0) {
    reached.slo.tpot_s = asked.tpot_s;
  } else if (streams_s * kPromptsBeside > kWantedSlo.tpot_s) {
    reached.slo.tpot_s = streams_s * kPromptsBeside;
    reached.reason += fmt::format("{}a step of {} streams takes {:.0f} ms",
                                  reached.reason.empty() ? "" : ", ", max_sequences, streams_s * 1e3);
  }
  return reached;
}

}  // namespace kvasir::sched

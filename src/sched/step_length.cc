#include "sched/step_length.h"

#include <algorithm>

namespace kvasir::sched {

namespace {

// The longest step beside streams, as a part of the TPOT SLO. The SLO is a mean, and steps without prompts
// are shorter, so no margin is needed.
constexpr double kTpotPart = 1.0;
// The longest step while no prompt is in a hurry, as a part of the TPOT SLO.
constexpr double kShortPart = 0.4;
// Prompts should be served within this part of the TTFT SLO, since more prompts may come.
constexpr double kTtftPart = 0.25;
// A prompt that misses the SLO even alone is in no hurry. It may take this many times as long as alone.
constexpr double kStretch = 3;

double aim_s(const Slo& slo, const AwaitedPrompt& prompt) {
  return prompt.alone_s > slo.ttft_s ? kStretch * prompt.alone_s : kTtftPart * slo.ttft_s;
}

}  // namespace

double choose_step_s(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts) {
  const double longest_s = bounds.slo.tpot_s * kTpotPart;
  // There are no streams: only the next arrival waits for the step's end.
  if (bounds.decode_s <= 0) return std::max(longest_s, bounds.slo.ttft_s * kTtftPart);
  // The part of all time that prefill needs so that every prompt is served in time.
  double part = 0;
  double work_s = 0;
  for (const AwaitedPrompt& prompt : prompts) {
    work_s += prompt.work_s;
    const double left_s = aim_s(bounds.slo, prompt) - prompt.waited_s;
    part = std::max(part, left_s > work_s ? work_s / left_s : 1);
  }
  const double least_s = bounds.decode_s * (1 + bounds.prefill_share);
  const double short_s = std::min(bounds.short_s, bounds.slo.tpot_s * kShortPart);
  const double wanted_s = part < 1 ? bounds.decode_s / (1 - part) : longest_s;
  return std::max(least_s, std::min(longest_s, std::max(short_s, wanted_s)));
}

}  // namespace kvasir::sched

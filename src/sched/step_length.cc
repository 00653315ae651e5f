#include "sched/step_length.h"

#include <algorithm>

namespace kvasir::sched {

namespace {

// The longest step beside streams, as a part of the SLO for TPOT. The SLO is a mean, and a stream's steps
// without prompts are shorter, so predictions need no margin.
constexpr double kTpotPart = 1.0;
// The longest that a step is while no prompt is in a hurry, as a part of the SLO for TPOT.
constexpr double kShortPart = 0.4;
// Prompts are meant to be served within this part of the SLO for TTFT: who comes next is not known yet.
constexpr double kTtftPart = 0.25;
// A prompt that misses the SLO even alone is in no hurry. It may take so many times as long as it would
// alone.
constexpr double kStretch = 3;

double aim_s(const Slo& slo, const AwaitedPrompt& prompt) {
  return prompt.alone_s > slo.ttft_s ? kStretch * prompt.alone_s : kTtftPart * slo.ttft_s;
}

}  // namespace

double choose_step_s(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts) {
  const double longest_s = bounds.slo.tpot_s * kTpotPart;
  // Nobody reads yet: only who comes next waits for the step's end.
  if (bounds.decode_s <= 0) return std::max(longest_s, bounds.slo.ttft_s * kTtftPart);
  // The part of all time that prefill needs for every prompt to be served as it should.
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

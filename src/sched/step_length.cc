#include "sched/step_length.h"

#include <algorithm>

namespace kvasir::sched {

namespace {

// The longest step beside streams, as a part of the TPOT SLO. While prompts always wait, every step takes
// this long, and so does a stream's mean token: with 1.0, half of the streams miss the SLO by chance. 0.95 is
// a few percent better, but fails if the step cost misses 5 % of the time.
constexpr double kTpotPart = 0.9;
// The longest step while no prompt is in a hurry, as a part of the TPOT SLO.
constexpr double kShortPart = 0.4;
// Prompts should be served within this part of the TTFT SLO, since more prompts may come.
constexpr double kTtftPart = 0.25;
// A prompt that misses the SLO even alone is in no hurry. It may take this many times as long as alone.
constexpr double kStretch = 3;

// A step may take this many times its aim for the sake of a whole prompt.
constexpr double kReach = 1.5;

// The seconds after its arrival by which a prompt should have been served.
double aim_s(double model_ttft_s, const AwaitedPrompt& prompt) {
  const bool has_own = prompt.ttft_s > 0 && prompt.alone_s <= prompt.ttft_s;
  const double ttft_s = has_own ? prompt.ttft_s : model_ttft_s;
  return prompt.alone_s > ttft_s ? kStretch * prompt.alone_s : kTtftPart * ttft_s;
}

// The longest step without streams: only the next arrival and prompts that end early wait for its end.
double longest_alone_s(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts) {
  double ttft_s = bounds.slo.ttft_s;
  for (const AwaitedPrompt& prompt : prompts)
    if (prompt.ttft_s > 0) ttft_s = std::min(ttft_s, prompt.ttft_s);
  return std::max(bounds.slo.tpot_s * kTpotPart, ttft_s * kTtftPart);
}

}  // namespace

double StepTarget::reaching(double whole_s) const {
  return whole_s > aim_s && whole_s <= std::min(longest_s, kReach * aim_s) ? whole_s : aim_s;
}

StepTarget choose_step(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts) {
  const double alone_s = longest_alone_s(bounds, prompts);
  if (bounds.decode_s <= 0) return {alone_s, alone_s};
  const double tpot_s = bounds.tpot_s > 0 ? bounds.tpot_s : bounds.slo.tpot_s;
  const double longest_s = std::min(tpot_s * kTpotPart, alone_s);
  // The part of all time that prefill needs so that every prompt is served in time.
  double part = 0;
  double work_s = 0;
  for (const AwaitedPrompt& prompt : prompts) {
    work_s += prompt.work_s;
    const double left_s = aim_s(bounds.slo.ttft_s, prompt) - prompt.waited_s;
    part = std::max(part, left_s > work_s ? work_s / left_s : 1);
  }
  const double least_s = bounds.decode_s * (1 + bounds.prefill_share);
  const double short_s = std::min(bounds.short_s, tpot_s * kShortPart);
  const double wanted_s = part < 1 ? bounds.decode_s / (1 - part) : longest_s;
  return {std::max(least_s, std::min(longest_s, std::max(short_s, wanted_s))), longest_s};
}

}  // namespace kvasir::sched

#pragma once

#include <span>

namespace kvasir::sched {

// What a request should get: its first token within `ttft_s`, and each further one within `tpot_s` in the
// mean.
struct Slo {
  double ttft_s = 0;
  double tpot_s = 0;
};

// A prompt that has no first token yet.
struct AwaitedPrompt {
  double work_s = 0;    // that its prefill still takes
  double alone_s = 0;   // that its prefill takes from the start, alone
  double waited_s = 0;  // since it came
};

struct StepBounds {
  Slo slo;
  double short_s = 0;        // a step where no prompt is in a hurry, at most
  double decode_s = 0;       // what the running streams take by themselves; 0: there are none
  double prefill_share = 0;  // of decode_s, that prefill gets at least
};

// How long the next step should take. Short steps are smooth for those who read; long ones bring prompts to
// their first token sooner, and share the reading of the weights among more rows. So a step is as short as
// the prompts in the order of service can bear, and never so long that the streams miss their SLO.
double choose_step_s(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts);

}  // namespace kvasir::sched

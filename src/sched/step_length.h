#pragma once

#include <span>

namespace kvasir::sched {

// A request should get its first token within `ttft_s`, and further ones every `tpot_s` on average.
struct Slo {
  double ttft_s = 0;
  double tpot_s = 0;
};

// A prompt that has no first token yet.
struct AwaitedPrompt {
  double work_s = 0;    // time that its prefill still needs
  double alone_s = 0;   // time that its whole prefill takes alone
  double waited_s = 0;  // since its arrival
  double ttft_s = 0;    // its own SLO; 0: the model's
};

struct StepBounds {
  Slo slo;                   // the model's
  double tpot_s = 0;         // the SLO of the running streams; 0: the model's
  double short_s = 0;        // longest step while no prompt is in a hurry
  double decode_s = 0;       // time of the running streams alone; 0: there are none
  double prefill_share = 0;  // the least time for prefill, as a part of decode_s
};

// How long the next step should take, and the longest that the streams allow.
struct StepTarget {
  double aim_s = 0;
  double longest_s = 0;

  // The step's length if the whole next prompt would take `whole_s`. A prompt that would take only a little
  // longer than the aim is not cut, since its rest would wait for another step.
  double reaching(double whole_s) const;
};

// Chooses the next step's length. Short steps make streams smooth. Long steps bring prompts to their first
// token sooner, and share the reading of the weights among more rows. So a step is as short as the prompts
// allow, and never so long that the streams miss their SLO. If the streams miss their SLO even without
// prompts, prefill still has its share. A prompt that would miss its own SLO even alone is aimed at the
// model's SLO.
StepTarget choose_step(const StepBounds& bounds, std::span<const AwaitedPrompt> prompts);

}  // namespace kvasir::sched

#pragma once

#include "base/check.h"
#include "base/result.h"
#include "sched/step_plan.h"

namespace kvasir::engine {

// Carries out steps on one device. Called by the engine thread only.
class Runner {
 public:
  virtual ~Runner() = default;

  // Copies blocks, feeds every slice's rows, and samples where a slice wants a token. One outcome for each
  // slice: what goes wrong with one is its own error. `seconds` is the caller's to measure. No step is under
  // way. An error is the device's end: nothing may be asked of this runner after it.
  virtual base::Result<sched::StepResult> run(const sched::StepPlan& plan) = 0;

  // Whether the plan can be started and the next one be started too before this one's tokens are seen.
  virtual bool can_start(const sched::StepPlan& /*plan*/) const { return false; }
  // run() in two: started steps run one after another, and are collected in that order, two under way at
  // most. The plan need not outlive the call. A slice whose token is in flight was in the plan started
  // before.
  virtual void start(const sched::StepPlan& /*plan*/) { CHECK(false, "this runner starts nothing"); }
  virtual base::Result<sched::StepResult> collect() { CHECK(false, "this runner starts nothing"); }

  // Whether it can tell how likely a prompt's own tokens were.
  virtual bool gives_prompt_logprobs() const { return false; }
};

}  // namespace kvasir::engine

#pragma once

#include "base/check.h"
#include "base/result.h"
#include "sched/step_plan.h"

namespace kvasir::engine {

// Runs steps on one device. Called by the engine thread only.
class Runner {
 public:
  virtual ~Runner() = default;

  // Copies blocks, feeds every slice's rows, and samples a token for each slice that wants one. There is one
  // outcome for each slice; an error of one slice does not affect the others. The caller measures `seconds`.
  // No started step may be under way. If run() itself fails, the device is lost, and the runner must not be
  // used again.
  virtual base::Result<sched::StepResult> run(const sched::StepPlan& plan) = 0;

  // Whether the plan can be started, and the next one too, before this plan's tokens are known to the engine.
  virtual bool can_start(const sched::StepPlan& /*plan*/) const { return false; }
  // run() in two halves. At most two started steps may be under way; they run and are collected in the order
  // of their start. The plan need not outlive the call. A slice with a token in flight must have been in the
  // plan that was started before.
  virtual void start(const sched::StepPlan& /*plan*/) { CHECK(false, "this runner starts nothing"); }
  virtual base::Result<sched::StepResult> collect() { CHECK(false, "this runner starts nothing"); }

  // Whether the runner can give the logprobs of a prompt's tokens.
  virtual bool gives_prompt_logprobs() const { return false; }
};

}  // namespace kvasir::engine

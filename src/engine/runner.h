#pragma once

#include "base/check.h"
#include "base/result.h"
#include "kv/block_image.h"
#include "sched/step_plan.h"

namespace kvasir::engine {

// Runs steps on one device. Called by the engine thread only.
class Runner {
 public:
  virtual ~Runner() = default;

  // Copies and loads blocks, feeds every slice's rows, samples a token for each slice that wants one, and
  // stores blocks. There is one outcome for each slice; an error of one slice does not affect the others. The
  // caller measures `seconds`. No started step may be under way. If run() itself fails, the device is lost,
  // and the runner must not be used again.
  virtual base::Result<sched::StepResult> run(const sched::StepPlan& plan) = 0;

  // Whether a step can be started before the engine knows the tokens of the step before it.
  virtual bool overlaps() const { return false; }
  // start(), draw() and collect() are run() in three parts. At most two started steps may be under way; they
  // run and are collected in the order of their start. The plan need not outlive a call. A slice with a token
  // in flight must have been in the plan that was started before.
  virtual void start(const sched::StepPlan& /*plan*/) { CHECK(false, "this runner starts nothing"); }
  // Draws the tokens of the step that was started last. Called once the step before it is collected and the
  // plan is brought up to date. A runner to which the first plan is enough draws in start() instead.
  virtual void draw(const sched::StepPlan& /*plan*/) {}
  virtual base::Result<sched::StepResult> collect() { CHECK(false, "this runner starts nothing"); }

  // The form of the blocks that the runner loads and stores. A form without a name means that it does
  // neither, and plans must not ask for it.
  virtual kv::BlockForm block_form() const { return {}; }

  // Whether the runner can give the logprobs of a prompt's tokens.
  virtual bool gives_prompt_logprobs() const { return false; }
};

}  // namespace kvasir::engine

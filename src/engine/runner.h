#pragma once

#include "sched/step_plan.h"

namespace kvasir::engine {

// Carries out steps on one device. Called by the engine thread only, one plan at a time.
class Runner {
 public:
  virtual ~Runner() = default;

  // Copies blocks, feeds every slice's rows, and samples where a slice wants a token. One outcome for each
  // slice: what goes wrong with one is its own error. `seconds` is the caller's to measure.
  virtual sched::StepResult run(const sched::StepPlan& plan) = 0;
};

}  // namespace kvasir::engine

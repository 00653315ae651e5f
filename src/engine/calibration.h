#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "engine/runner.h"
#include "sched/step_cost.h"

namespace kvasir::engine {

struct CalibrationOptions {
  int num_blocks = 0;
  int max_batch_tokens = 0;
  int max_batch_sequences = 0;
  double budget_s = 1.5;  // a step that is predicted to end later is not tried
};

// Runs a few steps of different sizes, made of one repeated token, to learn how long the device's steps take
// before it serves anybody. Uses the runner's blocks and leaves no data in them that anybody may read. Fails
// when the device fails.
base::Result<sched::StepCost> calibrate(const CalibrationOptions& options, Runner& runner,
                                        const base::Clock& clock);

}  // namespace kvasir::engine

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
  double budget_s = 1.5;  // no step that is predicted to end later is tried
};

// Runs a few steps of different sizes, made of one token over and over, to learn what the device's steps take
// before it serves anybody. Uses the runner's blocks, which hold nothing of anybody afterwards. Fails when
// the device does.
base::Result<sched::StepCost> calibrate(const CalibrationOptions& options, Runner& runner,
                                        const base::Clock& clock);

}  // namespace kvasir::engine

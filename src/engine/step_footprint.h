#pragma once

#include "model/arch/model_config.h"
#include "sched/step_plan.h"

namespace kvasir::engine {

// The memory that a step reads and the operations that it computes.
struct StepWork {
  double bytes = 0;
  double flops = 0;
};

// The costs of a model's steps, from its shape. All zero if they are not known.
struct StepFootprint {
  double weight_bytes = 0;    // of matrices that every step reads
  double expert_bytes = 0;    // of all routed experts; a step reads those that its rows pick
  double expert_share = 0;    // the part of the experts that one row uses
  double row_flops = 0;       // of one row, without its attention and its logits
  double head_flops = 0;      // of the logits of one row
  double kv_token_bytes = 0;  // of one token in all layers
  double kv_pair_flops = 0;   // of one row that attends to one token, in all layers
};

// `weight_bytes` and `kv_token_bytes` are the sizes as stored.
StepFootprint footprint_of(const model::ModelConfig& config, double weight_bytes, double kv_token_bytes);

// Assumes that weights are read once a step, and the KV of a sequence once for all its rows. Ignores sliding
// windows and the processor's caches. The pointers of the plan need not be valid.
StepWork work_of(const StepFootprint& footprint, const sched::StepPlan& plan);

}  // namespace kvasir::engine

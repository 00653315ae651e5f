#include "engine/step_footprint.h"

#include <cmath>

#include "model/arch/parameter_count.h"

namespace kvasir::engine {

StepFootprint footprint_of(const model::ModelConfig& config, double weight_bytes, double kv_token_bytes) {
  const model::ParameterCount count = model::count_parameters(config);
  const auto shared = static_cast<double>(count.shared);
  const auto experts = static_cast<double>(count.experts);
  const auto head = static_cast<double>(count.head);
  const double expert_bytes = weight_bytes * experts / (shared + experts + head);
  const double share =
      count.experts > 0 ? static_cast<double>(config.mixture.num_used) / config.mixture.num_experts : 0;
  const double attended = config.is_latent() ? 2.0 * config.latent.kv_rank + config.rope.dim
                                             : static_cast<double>(config.head_dim) * 2;
  return {.weight_bytes = weight_bytes - expert_bytes,
          .expert_bytes = expert_bytes,
          .expert_share = share,
          .row_flops = 2 * (shared + experts * share),
          .head_flops = 2 * head,
          .kv_token_bytes = kv_token_bytes,
          .kv_pair_flops = 2 * attended * config.num_heads * config.num_layers};
}

StepWork work_of(const StepFootprint& footprint, const sched::StepPlan& plan) {
  double num_rows = 0;
  double num_logits = 0;
  double kv_tokens = 0;  // read or written
  for (const sched::StepPlan::Slice& slice : plan.slices) {
    num_rows += slice.num_rows;
    kv_tokens += slice.num_computed + 2.0 * slice.num_rows;
    num_logits += slice.num_prompt_rows() + (slice.wants_token() ? 1 : 0);
  }
  const double picked = 1 - std::pow(1 - footprint.expert_share, num_rows);
  const auto pairs = static_cast<double>(plan.load.kv_tokens + plan.load.prefill_kv_tokens);
  return {.bytes =
              footprint.weight_bytes + footprint.expert_bytes * picked + footprint.kv_token_bytes * kv_tokens,
          .flops = footprint.row_flops * num_rows + footprint.head_flops * num_logits +
                   footprint.kv_pair_flops * pairs};
}

}  // namespace kvasir::engine

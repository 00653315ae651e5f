#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/step_batch.h"
#include "sample/sampler.h"
#include "sched/step_plan.h"

// Work that every runner does on the host.
namespace kvasir::engine {

// The plan's rows as one batch, which points into the plan. A token in flight is the last of its slice;
// `batch.tokens` has a 0 in its place.
void fill_batch(const sched::StepPlan& plan, model::StepBatch& batch);

// Rules for the token that a slice may draw, besides the request's own parameters.
struct TokenRules {
  std::span<const TokenId> forbidden = {};
  std::span<const std::uint32_t> allowed = {};  // one bit per token; empty: every token
};
// `mask` holds the mask of a slice with a grammar, and must outlive the result.
base::Result<TokenRules> rules_of(const sched::StepPlan::Slice& slice, std::vector<std::uint32_t>& mask);
// The random number in [0, 1) that decides the slice's next token.
double draw_position(const sched::StepPlan::Slice& slice);

// Draws the next tokens of slices from their logits, on the host. Not thread-safe.
class RowSampler {
 public:
  explicit RowSampler(int vocab_size) : sampler_(vocab_size) {}

  // Sets the outcome's token or error. `logits` is [vocab].
  void sample(const sched::StepPlan::Slice& slice, std::span<const float> logits,
              sched::StepResult::Outcome& outcome);
  // The prompt token after a row of the slice, with its logprob. `logits` [vocab] belong to that row.
  wire::Token prompt_token(const sched::StepPlan::Slice& slice, int row, std::span<const float> logits);

 private:
  sample::Sampler sampler_;
  std::vector<std::uint32_t> mask_;
};

}  // namespace kvasir::engine

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/step_batch.h"
#include "sample/sampler.h"
#include "sched/step_plan.h"

// What every runner does around its device.
namespace kvasir::engine {

// The plan's rows as one batch, which points into the plan. Tokens in flight stay out of it: they are the
// last of their slices, and `batch.tokens` has a 0 there.
void fill_batch(const sched::StepPlan& plan, model::StepBatch& batch);

// Whether the next token depends on the logits as they are, and nothing but the token is asked for.
bool draws_plainly(const sched::StepPlan::Slice& slice);
// The number in [0, 1) that decides the slice's next token.
double draw_position(const sched::StepPlan::Slice& slice);

// Draws slices' next tokens from their logits, on the host. Not thread-safe.
class RowSampler {
 public:
  explicit RowSampler(int vocab_size) : sampler_(vocab_size) {}

  // Sets the outcome's token or error. `logits` [vocab].
  void sample(const sched::StepPlan::Slice& slice, std::span<const float> logits,
              sched::StepResult::Outcome& outcome);
  // The prompt's token after a row of the slice, which gave the logits [vocab].
  wire::Token prompt_token(const sched::StepPlan::Slice& slice, int row, std::span<const float> logits);

 private:
  sample::Sampler sampler_;
  std::vector<std::uint32_t> mask_;
};

}  // namespace kvasir::engine

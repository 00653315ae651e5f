#include "engine/model_runner.h"

#include <utility>

#include "base/clock.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::engine {

ModelRunner::ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv)
    : decoder_(std::move(decoder)), kv_(std::move(kv)) {
  for (int thread = 0; thread < decoder_->pool().num_threads(); ++thread) {
    samplers_.emplace_back(decoder_->config().vocab_size);
  }
}

base::Result<sched::StepResult> ModelRunner::run(const sched::StepPlan& plan) {
  for (const sched::StepPlan::Copy& copy : plan.copies) kv_.copy_block(copy.from, copy.to);
  fill_batch(plan, batch_);
  logits_.resize(batch_.logit_rows.size() * decoder_->config().vocab_size);
  sched::StepResult result;
  const base::TimePoint start = base::RealClock().now();
  decoder_->forward(batch_, kv_, logits_);
  sample_all(plan, result);
  compute_s_ += base::seconds(base::RealClock().now() - start);
  return result;
}

void ModelRunner::sample_all(const sched::StepPlan& plan, sched::StepResult& result) {
  result.outcomes.resize(plan.slices.size());
  uses_.clear();
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const int num_prompt_rows = plan.slices[i].num_prompt_rows();
    result.outcomes[i].prompt.resize(static_cast<std::size_t>(num_prompt_rows));
    for (int row = 0; row < num_prompt_rows; ++row) uses_.push_back({i, row});
    if (plan.slices[i].wants_token()) uses_.push_back({i, -1});
  }
  const std::size_t vocab_size = decoder_->config().vocab_size;
  decoder_->pool().run(static_cast<int>(uses_.size()), [&](int i, int thread) {
    const auto row = static_cast<std::size_t>(i);
    const auto& [slice, prompt_row] = uses_[row];
    const std::span<const float> logits = std::span(logits_).subspan(row * vocab_size, vocab_size);
    RowSampler& sampler = samplers_[static_cast<std::size_t>(thread)];
    sched::StepResult::Outcome& outcome = result.outcomes[slice];
    if (prompt_row >= 0)
      outcome.prompt[static_cast<std::size_t>(prompt_row)] =
          sampler.prompt_token(plan.slices[slice], prompt_row, logits);
    else
      sampler.sample(plan.slices[slice], logits, outcome);
  });
}

}  // namespace kvasir::engine

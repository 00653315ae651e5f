#include "engine/model_runner.h"

#include <utility>

#include "base/clock.h"
#include "ops/compute_pool.h"

namespace kvasir::engine {

ModelRunner::ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv)
    : decoder_(std::move(decoder)), kv_(std::move(kv)) {
  for (int thread = 0; thread < decoder_->pool().num_threads(); ++thread) {
    samplers_.emplace_back(decoder_->config().vocab_size);
  }
}

sched::StepResult ModelRunner::run(const sched::StepPlan& plan) {
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
  sampled_.clear();
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    if (plan.slices[i].wants_token()) sampled_.push_back(i);
  }
  const std::size_t vocab_size = decoder_->config().vocab_size;
  decoder_->pool().run(static_cast<int>(sampled_.size()), [&](int i, int thread) {
    const auto row = static_cast<std::size_t>(i);
    const std::size_t slice = sampled_[row];
    result.outcomes[slice] = samplers_[static_cast<std::size_t>(thread)].sample(
        plan.slices[slice], std::span(logits_).subspan(row * vocab_size, vocab_size));
  });
}

}  // namespace kvasir::engine

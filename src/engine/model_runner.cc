#include "engine/model_runner.h"

#include <utility>

#include "base/clock.h"
#include "ops/compute_pool.h"

namespace kvasir::engine {
namespace {

sched::StepResult::Outcome sample(sample::Sampler& sampler, const sched::StepPlan::Slice& slice,
                                  std::span<const float> logits) {
  const wire::GenerateRequest& request = *slice.request;
  const int num_output = static_cast<int>(slice.known.size()) - slice.num_prompt;
  sample::SampleInput input{.params = request.sampling, .known = slice.known, .num_prompt = slice.num_prompt};
  if (num_output < request.min_tokens) input.forbidden = request.stop_tokens;
  base::Result<wire::Token> token = sampler.sample(logits, input);
  if (!token.ok()) return {.error = std::move(token).error()};
  return {.token = std::move(token).value()};
}

}  // namespace

ModelRunner::ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv)
    : decoder_(std::move(decoder)), kv_(std::move(kv)) {
  for (int thread = 0; thread < decoder_->pool().num_threads(); ++thread) {
    samplers_.emplace_back(decoder_->config().vocab_size);
  }
}

sched::StepResult ModelRunner::run(const sched::StepPlan& plan) {
  for (const sched::StepPlan::Copy& copy : plan.copies) kv_.copy_block(copy.from, copy.to);
  build_batch(plan);
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
    result.outcomes[slice] = sample(samplers_[static_cast<std::size_t>(thread)], plan.slices[slice],
                                    std::span(logits_).subspan(row * vocab_size, vocab_size));
  });
}

void ModelRunner::build_batch(const sched::StepPlan& plan) {
  batch_.tokens.clear();
  batch_.slices.clear();
  batch_.logit_rows.clear();
  for (const sched::StepPlan::Slice& slice : plan.slices) {
    const auto fed = slice.known.subspan(slice.num_computed, slice.num_rows);
    batch_.slices.push_back({.first_row = static_cast<int>(batch_.tokens.size()),
                             .num_rows = slice.num_rows,
                             .num_computed = slice.num_computed,
                             .blocks = slice.blocks});
    batch_.tokens.insert(batch_.tokens.end(), fed.begin(), fed.end());
    if (slice.wants_token()) batch_.logit_rows.push_back(static_cast<std::int32_t>(batch_.tokens.size()) - 1);
  }
}

}  // namespace kvasir::engine

#include "engine/model_runner.h"

#include <utility>

#include "base/clock.h"

namespace kvasir::engine {

ModelRunner::ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv)
    : decoder_(std::move(decoder)), kv_(std::move(kv)), sampler_(decoder_->config().vocab_size) {}

sched::StepResult ModelRunner::run(const sched::StepPlan& plan) {
  for (const sched::StepPlan::Copy& copy : plan.copies) kv_.copy_block(copy.from, copy.to);
  build_batch(plan);
  const std::size_t vocab_size = decoder_->config().vocab_size;
  logits_.resize(batch_.logit_rows.size() * vocab_size);
  const base::TimePoint start = base::RealClock().now();
  decoder_->forward(batch_, kv_, logits_);
  forward_s_ += base::seconds(base::RealClock().now() - start);
  sched::StepResult result;
  std::span<const float> rest = logits_;
  for (const sched::StepPlan::Slice& slice : plan.slices) {
    if (slice.wants_token()) {
      result.outcomes.push_back(sample(slice, rest.first(vocab_size)));
      rest = rest.subspan(vocab_size);
    } else {
      result.outcomes.emplace_back();
    }
  }
  return result;
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

sched::StepResult::Outcome ModelRunner::sample(const sched::StepPlan::Slice& slice,
                                               std::span<const float> logits) {
  const wire::GenerateRequest& request = *slice.request;
  const int num_output = static_cast<int>(slice.known.size()) - slice.num_prompt;
  sample::SampleInput input{.params = request.sampling, .known = slice.known, .num_prompt = slice.num_prompt};
  if (num_output < request.min_tokens) input.forbidden = request.stop_tokens;
  base::Result<wire::Token> token = sampler_.sample(logits, input);
  if (!token.ok()) return {.error = std::move(token).error()};
  return {.token = std::move(token).value()};
}

}  // namespace kvasir::engine

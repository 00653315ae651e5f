#include "engine/model_runner.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "ops/compute_pool.h"

namespace kvasir::engine {
namespace {

// Whether the mask has any token besides these.
bool allows_other(std::span<const std::uint32_t> mask, std::span<const TokenId> tokens) {
  const auto bit = [&](TokenId id) { return mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1; };
  int num_allowed = 0;
  for (const std::uint32_t word : mask) num_allowed += std::popcount(word);
  std::vector<TokenId> counted;
  for (const TokenId id : tokens) {
    if (id < 0 || static_cast<std::size_t>(id) / 32 >= mask.size() || bit(id) == 0) continue;
    if (std::ranges::find(counted, id) == counted.end()) counted.push_back(id);
  }
  return num_allowed > static_cast<int>(counted.size());
}

sched::StepResult::Outcome sample(sample::Sampler& sampler, const sched::StepPlan::Slice& slice,
                                  std::span<const float> logits, std::vector<std::uint32_t>& mask) {
  const wire::GenerateRequest& request = *slice.request;
  const int num_output = static_cast<int>(slice.known.size()) - slice.num_prompt;
  sample::SampleInput input{.params = request.sampling, .known = slice.known, .num_prompt = slice.num_prompt};
  const bool too_short = num_output < request.min_tokens;
  if (too_short) input.forbidden = request.stop_tokens;
  if (slice.matcher != nullptr) {
    mask.resize(slice.matcher->num_mask_words());
    if (base::Status filled = slice.matcher->fill_mask(mask); !filled.ok())
      return {.error = std::move(filled).error()};
    // A grammar that can only end here ends, however short the answer is.
    if (too_short && !allows_other(mask, request.stop_tokens)) input.forbidden = {};
    input.allowed = mask;
  }
  base::Result<wire::Token> token = sampler.sample(logits, input);
  if (!token.ok()) return {.error = std::move(token).error()};
  return {.token = std::move(token).value()};
}

}  // namespace

ModelRunner::ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv)
    : decoder_(std::move(decoder)), kv_(std::move(kv)) {
  masks_.resize(static_cast<std::size_t>(decoder_->pool().num_threads()));
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
                                    std::span(logits_).subspan(row * vocab_size, vocab_size),
                                    masks_[static_cast<std::size_t>(thread)]);
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

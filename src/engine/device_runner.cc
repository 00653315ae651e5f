#include "engine/device_runner.h"

#include <limits>
#include <span>
#include <utility>

#include "base/clock.h"

namespace kvasir::engine {

DeviceRunner::DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool)
    : decoder_(std::move(decoder)), pool_(pool) {
  for (int thread = 0; thread < pool.num_threads(); ++thread)
    samplers_.emplace_back(decoder_->config().vocab_size);
}

sched::StepResult DeviceRunner::run(const sched::StepPlan& plan) {
  for (const sched::StepPlan::Copy& copy : plan.copies) decoder_->copy_block(copy.from, copy.to);
  fill_batch(plan, batch_);
  make_draws(plan);
  const base::TimePoint start = base::RealClock().now();
  decoder_->forward(batch_, draws_, choices_);
  device_s_ += base::seconds(base::RealClock().now() - start);
  sched::StepResult result;
  result.outcomes.resize(plan.slices.size());
  read_choices(plan, result);
  sample_on_host(plan, result);
  return result;
}

void DeviceRunner::make_draws(const sched::StepPlan& plan) {
  draws_.clear();
  wanting_.clear();
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const sched::StepPlan::Slice& slice = plan.slices[i];
    if (!slice.wants_token()) continue;
    wanting_.push_back(i);
    model::RowDraw& draw = draws_.emplace_back();
    if (!draws_plainly(slice)) continue;
    const wire::SamplingParams& p = slice.request->sampling;
    draw = {.temperature = p.temperature, .top_p = p.top_p, .min_p = p.min_p, .top_k = p.top_k};
    if (p.temperature > 0) draw.u = draw_position(slice);
  }
  choices_.resize(draws_.size());
}

void DeviceRunner::read_choices(const sched::StepPlan& plan, sched::StepResult& result) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  fetched_.clear();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    sched::StepResult::Outcome& outcome = result.outcomes[wanting_[i]];
    if (choices_[i].largest == kInf || choices_[i].largest == -kInf)
      outcome.error = base::error(base::ErrorCode::internal, "the model's logits are not numbers");
    else if (choices_[i].token < 0 || !draws_plainly(plan.slices[wanting_[i]]))
      fetched_.push_back(i);
    else
      outcome.token = wire::Token{choices_[i].token};
  }
}

void DeviceRunner::sample_on_host(const sched::StepPlan& plan, sched::StepResult& result) {
  const auto vocab_size = static_cast<std::size_t>(decoder_->config().vocab_size);
  logits_.resize(fetched_.size() * vocab_size);
  const auto row = [&](std::size_t i) { return std::span(logits_).subspan(i * vocab_size, vocab_size); };
  for (std::size_t i = 0; i < fetched_.size(); ++i)
    decoder_->fetch_logits(static_cast<int>(fetched_[i]), row(i));
  pool_.run(static_cast<int>(fetched_.size()), [&](int i, int thread) {
    const std::size_t slice = wanting_[fetched_[static_cast<std::size_t>(i)]];
    result.outcomes[slice] = samplers_[static_cast<std::size_t>(thread)].sample(
        plan.slices[slice], row(static_cast<std::size_t>(i)));
  });
}

}  // namespace kvasir::engine

#include "engine/device_runner.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace kvasir::engine {

namespace {

// The device can sort only a limited number of candidates, so with top-k, top-p or min-p it may leave the
// draw to the host. Only the device knows when.
bool is_drawn_for_sure(const sched::StepPlan::Slice& slice) {
  const wire::SamplingParams& p = slice.request->sampling;
  const bool cut = p.top_k > 0 || p.top_p < 1 || p.min_p > 0;
  return draws_plainly(slice) && (p.temperature <= 0 || !cut);
}

}  // namespace

DeviceRunner::DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool)
    : decoder_(std::move(decoder)), pool_(pool) {
  for (int thread = 0; thread < pool.num_threads(); ++thread)
    samplers_.emplace_back(decoder_->config().vocab_size);
}

base::Result<sched::StepResult> DeviceRunner::run(const sched::StepPlan& plan) {
  CHECK(num_started_ == 0, "{} steps are under way", num_started_);
  send(plan, steps_[0]);
  TRY_OK(await(steps_[0]));
  sched::StepResult result = read_choices(steps_[0]);
  TRY_OK(sample_on_host(plan, steps_[0], result));
  return result;
}

bool DeviceRunner::can_start(const sched::StepPlan& plan) const {
  return std::ranges::all_of(plan.slices, [](const sched::StepPlan::Slice& slice) {
    return !slice.wants_token() || is_drawn_for_sure(slice);
  });
}

void DeviceRunner::start(const sched::StepPlan& plan) {
  CHECK(num_started_ < 2, "{} steps are under way", num_started_);
  send(plan, steps_[num_started_++]);
}

base::Result<sched::StepResult> DeviceRunner::collect() {
  CHECK(num_started_ > 0, "no step is under way");
  TRY_OK(await(steps_[0]));
  sched::StepResult result = read_choices(steps_[0]);
  CHECK(fetched_.empty(), "the device did not draw {} tokens", fetched_.size());
  std::swap(steps_[0], steps_[1]);
  --num_started_;
  return result;
}

void DeviceRunner::send(const sched::StepPlan& plan, Started& step) {
  for (const sched::StepPlan::Copy& copy : plan.copies) decoder_->copy_block(copy.from, copy.to);
  fill_batch(plan, batch_);
  name_tokens_in_flight(plan);
  make_draws(plan, step);
  decoder_->start(batch_, draws_);
}

base::Status DeviceRunner::await(const Started& step) {
  const base::TimePoint start = base::RealClock().now();
  choices_.resize(step.draws.size());
  base::Status collected = decoder_->collect(choices_);
  waited_s_ += base::seconds(base::RealClock().now() - start);
  return collected;
}

void DeviceRunner::name_tokens_in_flight(const sched::StepPlan& plan) {
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const sched::StepPlan::Slice& slice = plan.slices[i];
    if (slice.num_in_flight == 0 || !slice.wants_token()) continue;
    const auto found = std::ranges::lower_bound(in_flight_, slice.sequence, {}, &TokenInFlight::sequence);
    CHECK(slice.num_in_flight == 1 && found != in_flight_.end() && found->sequence == slice.sequence,
          "sequence {} has no token in flight", slice.sequence);
    const model::StepBatch::Slice& rows = batch_.slices[i];
    batch_.tokens[static_cast<std::size_t>(rows.first_row + rows.num_rows - 1)] = found->name;
  }
}

void DeviceRunner::make_draws(const sched::StepPlan& plan, Started& step) {
  draws_.clear();
  in_flight_.clear();
  step.num_slices = plan.slices.size();
  step.draws.clear();
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const sched::StepPlan::Slice& slice = plan.slices[i];
    if (!slice.wants_token()) continue;
    const bool is_plain = draws_plainly(slice);
    in_flight_.push_back({slice.sequence, -1 - static_cast<TokenId>(draws_.size())});
    step.draws.push_back({.slice = i, .is_hosts = !is_plain});
    model::RowDraw& draw = draws_.emplace_back();
    if (!is_plain) continue;
    const wire::SamplingParams& p = slice.request->sampling;
    draw = {.temperature = p.temperature, .top_p = p.top_p, .min_p = p.min_p, .top_k = p.top_k};
    if (p.temperature > 0) draw.u = draw_position(slice);
  }
  std::ranges::sort(in_flight_, {}, &TokenInFlight::sequence);
}

sched::StepResult DeviceRunner::read_choices(const Started& step) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  sched::StepResult result;
  result.outcomes.resize(step.num_slices);
  fetched_.clear();
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    sched::StepResult::Outcome& outcome = result.outcomes[step.draws[i].slice];
    if (choices_[i].largest == kInf || choices_[i].largest == -kInf)
      outcome.error = base::error(base::ErrorCode::internal, "the model's logits are not numbers");
    else if (choices_[i].token < 0 || step.draws[i].is_hosts)
      fetched_.push_back(i);
    else
      outcome.token = wire::Token{choices_[i].token};
  }
  return result;
}

base::Status DeviceRunner::sample_on_host(const sched::StepPlan& plan, const Started& step,
                                          sched::StepResult& result) {
  const auto vocab_size = static_cast<std::size_t>(decoder_->config().vocab_size);
  logits_.resize(fetched_.size() * vocab_size);
  const auto row = [&](std::size_t i) { return std::span(logits_).subspan(i * vocab_size, vocab_size); };
  for (std::size_t i = 0; i < fetched_.size(); ++i)
    TRY_OK(decoder_->fetch_logits(static_cast<int>(fetched_[i]), row(i)));
  pool_.run(static_cast<int>(fetched_.size()), [&](int i, int thread) {
    const std::size_t slice = step.draws[fetched_[static_cast<std::size_t>(i)]].slice;
    samplers_[static_cast<std::size_t>(thread)].sample(plan.slices[slice], row(static_cast<std::size_t>(i)),
                                                       result.outcomes[slice]);
  });
  return base::ok();
}

}  // namespace kvasir::engine

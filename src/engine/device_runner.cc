#include "engine/device_runner.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace kvasir::engine {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

bool is_penalized(const wire::SamplingParams& p) {
  return p.presence_penalty != 0 || p.frequency_penalty != 0 || p.repetition_penalty != 1;
}

wire::TokenLogprob logprob_of(const model::RowChoice& choice) {
  wire::TokenLogprob logprob{.logprob = choice.logprob};
  for (const ops::TopToken& top : choice.top) logprob.top.emplace_back(top.token, top.logprob);
  return logprob;
}

}  // namespace

DeviceRunner::DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool)
    : decoder_(std::move(decoder)), pool_(pool), histories_(decoder_->num_histories()) {}

base::Result<sched::StepResult> DeviceRunner::run(const sched::StepPlan& plan) {
  CHECK(num_started_ == 0, "{} steps are under way", num_started_);
  start(plan);
  draw(plan);
  return collect();
}

void DeviceRunner::start(const sched::StepPlan& plan) {
  CHECK(num_started_ < 2, "{} steps are under way", num_started_);
  const base::RealClock clock;
  const base::TimePoint began = clock.now();
  for (const sched::StepPlan::Copy& copy : plan.copies) decoder_->copy_block(copy.from, copy.to);
  for (const sched::StepPlan::Load& load : plan.loads)
    decoder_->import_block(load.to, std::as_bytes(std::span(load.from->bytes)));
  const double loaded_s = plan.loads.empty() ? 0 : base::seconds(clock.now() - began);
  fill_batch(plan, batch_);
  name_tokens_in_flight(plan);
  Started& step = steps_[num_started_++];
  list_draws(plan, step);
  decoder_->start(batch_);
  step.moved_s = loaded_s;
  store_all(plan, step);
}

// Called before the next step starts, which may write to these blocks. Waits for the step.
void DeviceRunner::store_all(const sched::StepPlan& plan, Started& step) {
  step.stored.clear();
  for (const sched::StepPlan::Store& store : plan.stores) {
    std::string bytes(static_cast<std::size_t>(decoder_->kv_block_bytes()), '\0');
    decoder_->export_block(store.from, std::as_writable_bytes(std::span(bytes)));
    step.stored.push_back(kv::sealed(std::move(bytes), store.hash));
  }
}

kv::BlockForm DeviceRunner::block_form() const {
  return {decoder_->block_form(), static_cast<std::size_t>(decoder_->kv_block_bytes())};
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

// Lists the draws in the order of the batch's rows of logits.
void DeviceRunner::list_draws(const sched::StepPlan& plan, Started& step) {
  in_flight_.clear();
  step.num_slices = plan.slices.size();
  step.draws.clear();
  for (std::size_t i = 0; i < plan.slices.size(); ++i) {
    const sched::StepPlan::Slice& slice = plan.slices[i];
    for (int row = 0; row < slice.num_prompt_rows(); ++row)
      step.draws.push_back({.slice = i,
                            .given = slice.known[static_cast<std::size_t>(slice.num_computed + row + 1)],
                            .num_given_top = *slice.request->num_prompt_logprobs});
    if (!slice.wants_token()) continue;
    in_flight_.push_back({slice.sequence, -1 - static_cast<TokenId>(step.draws.size())});
    step.draws.push_back({.slice = i, .wants_logprob = slice.request->sampling.logprobs});
  }
  std::ranges::sort(in_flight_, {}, &TokenInFlight::sequence);
}

void DeviceRunner::draw(const sched::StepPlan& plan) {
  CHECK(num_started_ > 0, "no step is under way");
  Started& step = steps_[num_started_ - 1];
  make_rules(plan, step);
  draws_.clear();
  for (std::size_t i = 0; i < step.draws.size(); ++i) {
    const Draw& draw = step.draws[i];
    if (draw.given >= 0)
      draws_.push_back({.num_top = draw.num_given_top, .given = draw.given});
    else if (draw.is_dropped || draw.error)
      draws_.emplace_back();
    else
      draws_.push_back(make_draw(plan.slices[draw.slice], rules_[i]));
  }
  decoder_->draw(draws_);
}

void DeviceRunner::make_rules(const sched::StepPlan& plan, Started& step) {
  if (rules_.size() < step.draws.size()) rules_.resize(step.draws.size());
  const auto make = [&](std::size_t i) {
    Draw& draw = step.draws[i];
    base::Result<TokenRules> rules = rules_of(plan.slices[draw.slice], rules_[i].mask);
    if (rules.ok())
      rules_[i].rules = *rules;
    else
      draw.error = std::move(rules).error();
  };
  masked_.clear();
  for (std::size_t i = 0; i < step.draws.size(); ++i) {
    Draw& draw = step.draws[i];
    if (draw.given >= 0) continue;
    const sched::StepPlan::Slice& slice = plan.slices[draw.slice];
    draw.is_dropped = slice.request == nullptr || !slice.wants_token();
    if (draw.is_dropped) continue;
    if (slice.matcher != nullptr)
      masked_.push_back(i);
    else
      make(i);
  }
  if (masked_.empty()) return;
  pool_.run(static_cast<int>(masked_.size()),
            [&](int i, int /*thread*/) { make(masked_[static_cast<std::size_t>(i)]); });
}

model::RowDraw DeviceRunner::make_draw(const sched::StepPlan::Slice& slice, Rules& rules) {
  const wire::SamplingParams& p = slice.request->sampling;
  model::RowDraw draw{.temperature = p.temperature, .top_p = p.top_p, .min_p = p.min_p, .top_k = p.top_k};
  if (p.temperature > 0) draw.u = draw_position(slice);
  if (p.logprobs) draw.num_top = p.num_top_logprobs;
  if (is_penalized(p)) count_history(slice, draw);
  const auto is_known = [&](TokenId id) { return id >= 0 && id < decoder_->config().vocab_size; };
  rules.biases.clear();
  for (const auto& [id, bias] : p.logit_bias)
    if (is_known(id)) rules.biases.push_back({id, bias});
  for (const TokenId id : rules.rules.forbidden)
    if (is_known(id)) rules.biases.push_back({id, -kInf});
  draw.biases = rules.biases;
  draw.allowed = rules.rules.allowed;
  return draw;
}

void DeviceRunner::count_history(const sched::StepPlan::Slice& slice, model::RowDraw& draw) {
  const wire::SamplingParams& p = slice.request->sampling;
  draw.repetition_penalty = p.repetition_penalty;
  draw.frequency_penalty = p.frequency_penalty;
  draw.presence_penalty = p.presence_penalty;
  const Histories::Use use = histories_.use(slice.sequence, slice.known.size());
  const auto num_prompt = static_cast<std::size_t>(slice.num_prompt);
  draw.history = use.history;
  draw.clears_history = use.num_counted == 0;
  if (draw.clears_history && p.repetition_penalty != 1) draw.prompt_counted = slice.known.first(num_prompt);
  draw.output_counted = slice.known.subspan(std::max(num_prompt, use.num_counted));
}

base::Result<sched::StepResult> DeviceRunner::collect() {
  CHECK(num_started_ > 0, "no step is under way");
  choices_.resize(steps_[0].draws.size());
  const base::TimePoint start = base::RealClock().now();
  const base::Status collected = decoder_->collect(choices_);
  waited_s_ += base::seconds(base::RealClock().now() - start);
  TRY_OK(collected);
  sched::StepResult result = read_choices(steps_[0]);
  result.stored = std::move(steps_[0].stored);
  result.moved_s = steps_[0].moved_s;
  std::swap(steps_[0], steps_[1]);
  --num_started_;
  return result;
}

sched::StepResult DeviceRunner::read_choices(Started& step) const {
  sched::StepResult result;
  result.outcomes.resize(step.num_slices);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const model::RowChoice& choice = choices_[i];
    Draw& draw = step.draws[i];
    if (draw.is_dropped) continue;
    sched::StepResult::Outcome& outcome = result.outcomes[draw.slice];
    if (draw.given >= 0)
      outcome.prompt.push_back({draw.given, logprob_of(choice)});
    else if (draw.error)
      outcome.error = std::move(draw.error);
    else if (choice.largest == kInf)
      outcome.error = base::error(base::ErrorCode::internal, "the model's logits are not numbers");
    else if (choice.largest == -kInf)
      outcome.error = base::error(base::ErrorCode::internal, "every token is ruled out");
    else
      outcome.token = wire::Token{choice.token};
    if (outcome.token && draw.wants_logprob) outcome.token->logprob = logprob_of(choice);
  }
  return result;
}

}  // namespace kvasir::engine

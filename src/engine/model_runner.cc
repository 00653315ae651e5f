#include "engine/model_runner.h"

#include <cstddef>
#include <span>
#include <string>
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
  const base::RealClock clock;
  const base::TimePoint began = clock.now();
  load_all(plan);
  const double loaded_s = base::seconds(clock.now() - began);
  fill_batch(plan, batch_);
  logits_.resize(batch_.logit_rows.size() * decoder_->config().vocab_size);
  sched::StepResult result;
  const base::TimePoint start = clock.now();
  decoder_->forward(batch_, kv_, logits_);
  sample_all(plan, result);
  const base::TimePoint sampled = clock.now();
  compute_s_ += base::seconds(sampled - start);
  store_all(plan, result);
  result.moved_s = loaded_s + base::seconds(clock.now() - sampled);
  return result;
}

void ModelRunner::load_all(const sched::StepPlan& plan) {
  if (plan.loads.empty()) return;
  decoder_->pool().run(static_cast<int>(plan.loads.size()), [&](int i, int /*thread*/) {
    const sched::StepPlan::Load& load = plan.loads[static_cast<std::size_t>(i)];
    kv_.import_block(load.to, std::as_bytes(std::span(load.from->bytes)));
  });
}

void ModelRunner::store_all(const sched::StepPlan& plan, sched::StepResult& result) {
  if (plan.stores.empty()) return;
  result.stored.resize(plan.stores.size());
  decoder_->pool().run(static_cast<int>(plan.stores.size()), [&](int i, int /*thread*/) {
    const sched::StepPlan::Store& store = plan.stores[static_cast<std::size_t>(i)];
    std::string bytes(kv_.image_bytes(), '\0');
    kv_.export_block(store.from, std::as_writable_bytes(std::span(bytes)));
    result.stored[static_cast<std::size_t>(i)] = kv::sealed(std::move(bytes), store.hash);
  });
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

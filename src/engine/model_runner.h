#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/runner.h"
#include "model/decoder.h"
#include "model/kv_cache.h"
#include "sample/sampler.h"

namespace kvasir::engine {

// Runs steps on a decoder and samples from its logits. Owns the physical blocks.
class ModelRunner final : public Runner {
 public:
  ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv);

  sched::StepResult run(const sched::StepPlan& plan) override;

  // Spent inside the decoder since the start; what a step took beyond it is the engine's own.
  double forward_seconds() const { return forward_s_; }

 private:
  void build_batch(const sched::StepPlan& plan);
  sched::StepResult::Outcome sample(const sched::StepPlan::Slice& slice, std::span<const float> logits);

  std::unique_ptr<model::Decoder> decoder_;
  model::KvCache kv_;
  sample::Sampler sampler_;
  model::StepBatch batch_;
  std::vector<float> logits_;  // [batch_.logit_rows, vocab]
  double forward_s_ = 0;
};

}  // namespace kvasir::engine

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/runner.h"
#include "engine/step_rows.h"
#include "model/decoder/decoder.h"
#include "model/decoder/kv_cache.h"
#include "model/decoder/step_batch.h"

namespace kvasir::engine {

// Runs steps on a decoder and samples from its logits, on the decoder's pool. Owns the physical blocks.
class ModelRunner final : public Runner {
 public:
  ModelRunner(std::unique_ptr<model::Decoder> decoder, model::KvCache kv);

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override;
  kv::BlockForm block_form() const override { return {kv_.form(), kv_.image_bytes()}; }
  bool gives_prompt_logprobs() const override { return true; }

  // Seconds spent on the pool since the start. The rest of a step's time is the engine's.
  double compute_seconds() const { return compute_s_; }

 private:
  void load_all(const sched::StepPlan& plan);
  void store_all(const sched::StepPlan& plan, sched::StepResult& result);
  void sample_all(const sched::StepPlan& plan, sched::StepResult& result);

  std::unique_ptr<model::Decoder> decoder_;
  model::KvCache kv_;
  std::vector<RowSampler> samplers_;  // one for each thread of the pool
  model::StepBatch batch_;
  std::vector<float> logits_;  // [batch_.logit_rows, vocab]
  // What a row of logits is for.
  struct RowUse {
    std::size_t slice;
    int prompt_row;  // row within the slice; -1: the next token is drawn from it
  };
  std::vector<RowUse> uses_;  // [batch_.logit_rows]
  double compute_s_ = 0;
};

}  // namespace kvasir::engine

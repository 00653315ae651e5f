#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/runner.h"
#include "engine/step_rows.h"
#include "model/device_decoder.h"
#include "model/step_batch.h"
#include "ops/compute_pool.h"

namespace kvasir::engine {

// Runs steps on a decoder that has a device of its own, which draws the tokens too. What a request asks for
// beyond temperature, top-k, top-p and min-p is drawn on the host, on `pool`, from logits that are fetched.
class DeviceRunner final : public Runner {
 public:
  // `pool` outlives it.
  DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool);

  sched::StepResult run(const sched::StepPlan& plan) override;

  // Spent in the decoder since the start; what a step took beyond it is the host's own.
  double device_seconds() const { return device_s_; }

 private:
  void make_draws(const sched::StepPlan& plan);
  void read_choices(const sched::StepPlan& plan, sched::StepResult& result);
  void sample_on_host(const sched::StepPlan& plan, sched::StepResult& result);

  std::unique_ptr<model::DeviceDecoder> decoder_;
  ops::ComputePool& pool_;
  std::vector<RowSampler> samplers_;  // of each thread of the pool
  model::StepBatch batch_;
  std::vector<model::RowDraw> draws_;
  std::vector<model::RowChoice> choices_;
  std::vector<std::size_t> wanting_;  // [draws]: their slices
  std::vector<std::size_t> fetched_;  // draws that are the host's
  std::vector<float> logits_;         // [fetched, vocab]
  double device_s_ = 0;
};

}  // namespace kvasir::engine

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/runner.h"
#include "engine/step_rows.h"
#include "model/decoder/device_decoder.h"
#include "model/decoder/step_batch.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::engine {

// Runs steps on a decoder with a device of its own, which also draws the tokens. For requests that use more
// than temperature, top-k, top-p and min-p, the logits are fetched and the host draws on `pool`.
class DeviceRunner final : public Runner {
 public:
  // `pool` outlives it.
  DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool);

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override;
  // True if the device is sure to draw every token that is wanted.
  bool can_start(const sched::StepPlan& plan) const override;
  void start(const sched::StepPlan& plan) override;
  base::Result<sched::StepResult> collect() override;

  // Seconds spent waiting for the device since the start. The rest of a step's time is the host's.
  double waited_seconds() const { return waited_s_; }

 private:
  // The data kept for a step that was started.
  struct Started {
    struct Draw {
      std::size_t slice = 0;
      bool is_hosts = false;
    };
    std::size_t num_slices = 0;
    std::vector<Draw> draws;
  };
  // The name by which the next step refers to a token that is not known yet.
  struct TokenInFlight {
    sched::SequenceId sequence = 0;
    TokenId name = 0;
  };

  void send(const sched::StepPlan& plan, Started& step);
  base::Status await(const Started& step);
  void name_tokens_in_flight(const sched::StepPlan& plan);
  void make_draws(const sched::StepPlan& plan, Started& step);
  // The tokens that the device has drawn, and errors. Draws that are left to the host go to `fetched_`.
  sched::StepResult read_choices(const Started& step);
  base::Status sample_on_host(const sched::StepPlan& plan, const Started& step, sched::StepResult& result);

  std::unique_ptr<model::DeviceDecoder> decoder_;
  ops::ComputePool& pool_;
  std::vector<RowSampler> samplers_;  // one for each thread of the pool
  model::StepBatch batch_;
  std::vector<model::RowDraw> draws_;
  std::vector<model::RowChoice> choices_;
  Started steps_[2];  // the step that is collected next, and the one after it
  int num_started_ = 0;
  std::vector<TokenInFlight> in_flight_;  // of the last step, sorted by sequence
  std::vector<std::size_t> fetched_;      // draws that are left to the host
  std::vector<float> logits_;             // [fetched, vocab]
  double waited_s_ = 0;
};

}  // namespace kvasir::engine

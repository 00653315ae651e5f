#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/histories.h"
#include "engine/runner.h"
#include "engine/step_rows.h"
#include "model/decoder/device_decoder.h"
#include "model/decoder/step_batch.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::engine {

// Runs steps on a decoder with a device of its own, which also draws the tokens. The host computes the masks
// of grammars on `pool`, while the device computes the step that they are for.
class DeviceRunner final : public Runner {
 public:
  // `pool` outlives the runner.
  DeviceRunner(std::unique_ptr<model::DeviceDecoder> decoder, ops::ComputePool& pool);

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override;
  bool overlaps() const override { return true; }
  void start(const sched::StepPlan& plan) override;
  void draw(const sched::StepPlan& plan) override;
  base::Result<sched::StepResult> collect() override;
  kv::BlockForm block_form() const override;
  bool gives_prompt_logprobs() const override { return true; }

  // Seconds spent waiting for the device since the start. The rest of a step's time is the host's.
  double waited_seconds() const { return waited_s_; }

 private:
  // A row of logits of a step that was started.
  struct Draw {
    std::size_t slice = 0;
    TokenId given = -1;  // the prompt token whose logprob the row gives; -1: the slice's token is drawn
    int num_given_top = 0;
    bool is_dropped = false;     // the token is no longer wanted
    bool wants_logprob = false;  // of the token
    std::optional<base::Error> error = {};
  };
  struct Started {
    std::size_t num_slices = 0;
    std::vector<Draw> draws;
    std::vector<kv::BlockImage> stored;
    double moved_s = 0;
  };
  // The memory that the spans of a draw point to.
  struct Rules {
    std::vector<std::uint32_t> mask;
    std::vector<ops::TokenBias> biases;
    TokenRules rules;
  };
  // The name by which the next step refers to a token that is not known yet.
  struct TokenInFlight {
    sched::SequenceId sequence = 0;
    TokenId name = 0;
  };

  void store_all(const sched::StepPlan& plan, Started& step);
  void name_tokens_in_flight(const sched::StepPlan& plan);
  void list_draws(const sched::StepPlan& plan, Started& step);
  void make_rules(const sched::StepPlan& plan, Started& step);
  model::RowDraw make_draw(const sched::StepPlan::Slice& slice, Rules& rules);
  void count_history(const sched::StepPlan::Slice& slice, model::RowDraw& draw);
  sched::StepResult read_choices(Started& step) const;

  std::unique_ptr<model::DeviceDecoder> decoder_;
  ops::ComputePool& pool_;
  Histories histories_;
  model::StepBatch batch_;
  std::vector<model::RowDraw> draws_;
  std::vector<Rules> rules_;         // [draws]
  std::vector<std::size_t> masked_;  // draws with a grammar
  std::vector<model::RowChoice> choices_;
  Started steps_[2];  // the step that is collected next, and the one after it
  int num_started_ = 0;
  std::vector<TokenInFlight> in_flight_;  // of the last step, sorted by sequence
  double waited_s_ = 0;
};

}  // namespace kvasir::engine

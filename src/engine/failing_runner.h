#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"
#include "engine/runner.h"

namespace kvasir::engine {

// Wraps a runner and fails at a given step as a broken device would. For tests and drills.
class FailingRunner final : public Runner {
 public:
  // `fails_at` counts from 1.
  FailingRunner(std::unique_ptr<Runner> runner, std::int64_t fails_at)
      : runner_(std::move(runner)), fails_at_(fails_at) {}

  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override {
    TRY_OK(count_step());
    return runner_->run(plan);
  }
  bool overlaps() const override { return runner_->overlaps(); }
  void start(const sched::StepPlan& plan) override { runner_->start(plan); }
  void draw(const sched::StepPlan& plan) override { runner_->draw(plan); }
  base::Result<sched::StepResult> collect() override {
    TRY_OK(count_step());
    return runner_->collect();
  }
  kv::BlockForm block_form() const override { return runner_->block_form(); }
  bool gives_prompt_logprobs() const override { return runner_->gives_prompt_logprobs(); }

 private:
  base::Status count_step() {
    if (++num_steps_ < fails_at_) return base::ok();
    return base::error(base::ErrorCode::unavailable, "step {} fails, as --fail-at-step asks", num_steps_);
  }

  const std::unique_ptr<Runner> runner_;
  const std::int64_t fails_at_;
  std::int64_t num_steps_ = 0;
};

}  // namespace kvasir::engine

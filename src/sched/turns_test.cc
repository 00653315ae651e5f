#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "sched/scheduler.h"
#include "wire/worker_report.h"

namespace kvasir::sched {
namespace {

constexpr int kStreams = 1000;
constexpr double kRowSeconds = 0.001;  // all streams in one step would take a second

// Streams of up to seven blocks on a device that takes a millisecond for a row.
class TurnsTest : public testing::Test {
 protected:
  static SchedulerOptions options(double target_step_s) {
    return {.num_blocks = 8 * kStreams,
            .max_batch_tokens = 2 * kStreams,
            .max_batch_sequences = kStreams + 8,
            .target_step_s = target_step_s};
  }

  static SequenceId submit(Scheduler& scheduler, int number, int max_tokens) {
    wire::GenerateRequest request;
    request.prompt.assign(4, 10 + number);
    request.max_tokens = max_tokens;
    return scheduler.submit(std::move(request)).value();
  }

  // Runs a step. Returns the number of rows of each sequence.
  std::map<SequenceId, int> step(Scheduler& scheduler) {
    const StepPlan plan = scheduler.plan();
    StepResult result;
    std::map<SequenceId, int> rows;
    for (const StepPlan::Slice& slice : plan.slices) {
      rows[slice.sequence] = slice.num_rows;
      result.seconds += kRowSeconds * slice.num_rows;
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = 5};
    }
    for (const SequenceEvent& event : scheduler.commit(plan, std::move(result)))
      num_tokens_[event.sequence] += static_cast<int>(event.event.tokens.size());
    return rows;
  }

  // Runs steps until every stream has had a token.
  void start_streams(Scheduler& scheduler) {
    for (int i = 0; i < kStreams; ++i) submit(scheduler, i, 100);
    while (scheduler.num_waiting() > 0 || num_tokens_.size() < kStreams) step(scheduler);
  }

  std::map<SequenceId, int> num_tokens_;
};

TEST_F(TurnsTest, ManyStreamsTakeTurnsAndNoneFallsBehind) {
  Scheduler scheduler(options(0.15));
  start_streams(scheduler);
  const std::map<SequenceId, int> before = num_tokens_;
  for (int i = 0; i < 4; ++i) EXPECT_LE(step(scheduler).size(), 256u);
  for (const auto& [id, num] : num_tokens_) {
    EXPECT_GE(num - before.at(id), 1);
    EXPECT_LE(num - before.at(id), 2);
  }
}

TEST_F(TurnsTest, ANewcomerIsInTheNextStepAndTheStepIsShort) {
  Scheduler scheduler(options(0.15));
  start_streams(scheduler);
  const SequenceId newcomer = submit(scheduler, kStreams, 2);
  const std::map<SequenceId, int> rows = step(scheduler);
  EXPECT_EQ(rows.at(newcomer), 4);
  EXPECT_LE(rows.size(), 257u);
  EXPECT_EQ(num_tokens_.at(newcomer), 1);
}

TEST_F(TurnsTest, WithoutATargetEveryStreamIsInEveryStep) {
  Scheduler scheduler(options(0));
  start_streams(scheduler);
  EXPECT_EQ(step(scheduler).size(), std::size_t{kStreams});
}

TEST_F(TurnsTest, NoMoreJoinThanMayRun) {
  SchedulerOptions few = options(0.15);
  few.max_batch_sequences = 500;
  Scheduler scheduler(few);
  for (int i = 0; i < kStreams; ++i) submit(scheduler, i, 100);
  for (int i = 0; i < 60; ++i) {
    step(scheduler);
    EXPECT_LE(scheduler.num_running(), 500);
  }
  EXPECT_EQ(scheduler.num_running(), 500);
}

TEST(BusyTime, ThatOfLongPromptsIsCountedByItself) {
  Scheduler scheduler({.num_blocks = 64, .max_batch_tokens = 128, .max_batch_sequences = 4});
  const auto step = [&](double seconds) {
    const StepPlan plan = scheduler.plan();
    StepResult result{.seconds = seconds};
    for (const StepPlan::Slice& slice : plan.slices) {
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = 5};
    }
    scheduler.commit(plan, std::move(result));
  };
  const auto submit = [&](int num_prompt) {
    wire::GenerateRequest request;
    request.prompt.assign(static_cast<std::size_t>(num_prompt), 10 + num_prompt);
    request.max_tokens = 50;
    EXPECT_TRUE(scheduler.submit(std::move(request)).ok());
  };
  submit(wire::kLeastLongPrompt - 1);
  step(1);
  step(1);
  EXPECT_DOUBLE_EQ(scheduler.stats().busy_s, 2);
  EXPECT_DOUBLE_EQ(scheduler.stats().long_prompts_s, 0) << "a short prompt, and a token";
  submit(100);
  step(1);
  EXPECT_DOUBLE_EQ(scheduler.stats().busy_s, 3);
  EXPECT_GT(scheduler.stats().long_prompts_s, 0) << "beside a token";
  EXPECT_LT(scheduler.stats().long_prompts_s, 1);
}

}  // namespace
}  // namespace kvasir::sched

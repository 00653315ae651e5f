#include "sched/step_end.h"

#include <gtest/gtest.h>

#include "sched/prompt_order.h"
#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

// Learns that a step takes `step_s`, and each row `row_s` more.
StepCost learned(double step_s, double row_s) {
  StepCost cost;
  for (int i = 0; i < 400; ++i) {
    const int rows = 1 + i * 37 % 500;
    cost.observe({.prefill_tokens = rows}, step_s + row_s * rows);
  }
  return cost;
}

Cut half_of(int rows, int num_waiting) {
  return {.kept = {.prefill_tokens = rows / 2},
          .left = {.prefill_tokens = rows / 2},
          .whole = {.prefill_tokens = rows},
          .num_ended = 1,
          .num_waiting = num_waiting};
}

TEST(StepEnd, PaysWhereRowsTakeTheTime) {
  EXPECT_GT(gain_s(learned(0.004, 0.001), half_of(100, 1)), 0.03);
}

TEST(StepEnd, DoesNotPayWhereTheStepItselfDoes) {
  EXPECT_LT(gain_s(learned(0.1, 0.0001), half_of(100, 1)), 0);
}

TEST(StepEnd, DoesNotPayWhereManyWaitForTheNextStep) {
  EXPECT_LT(gain_s(learned(0.004, 0.001), half_of(100, 40)), 0);
}

wire::GenerateRequest prompt_of(TokenId first, int num_tokens) {
  wire::GenerateRequest request;
  for (int i = 0; i < num_tokens; ++i) request.prompt.push_back(first + i);
  request.max_tokens = 1;
  return request;
}

// On a device where only rows take time, prompts that come together are computed one after the other.
TEST(StepEnd, PlansEndWithTheFirstPrompt) {
  Scheduler scheduler({.num_blocks = 512,
                       .target_step_s = 0,
                       .slo = {.ttft_s = 2, .tpot_s = 0.5},
                       .cost = learned(0.002, 0.001)});
  ASSERT_TRUE(scheduler.submit(prompt_of(1000, 40)).ok());
  ASSERT_TRUE(scheduler.submit(prompt_of(2000, 50)).ok());
  const StepPlan plan = scheduler.plan();
  ASSERT_EQ(plan.slices.size(), 1);
  EXPECT_EQ(plan.slices[0].num_rows, 40);
}

TEST(StepEnd, PlansHoldAllPromptsWhereTheStepTakesTheTime) {
  Scheduler scheduler({.num_blocks = 512,
                       .target_step_s = 0,
                       .slo = {.ttft_s = 2, .tpot_s = 0.5},
                       .cost = learned(0.1, 0.0001)});
  ASSERT_TRUE(scheduler.submit(prompt_of(1000, 40)).ok());
  ASSERT_TRUE(scheduler.submit(prompt_of(2000, 50)).ok());
  EXPECT_EQ(scheduler.plan().slices.size(), 2);
}

TEST(PromptSize, SimilarPromptsHaveOne) {
  const StepCost cost = learned(0.004, 0.001);
  const double most = most_small_tokens(cost, 1.0, 0);
  EXPECT_NEAR(most, 250, 40);  // a quarter of the SLO
  EXPECT_EQ(prompt_size(most, 10), prompt_size(most, most));
  EXPECT_EQ(prompt_size(most, 1.01 * most), 1);
  EXPECT_EQ(prompt_size(most, 3.99 * most), 1);
  EXPECT_EQ(prompt_size(most, 5 * most), 2);
}

TEST(PromptSize, IsTheLengthWhereSomeWillBeLateOrNoSloIsSet) {
  const StepCost cost = learned(0.004, 0.001);
  EXPECT_EQ(most_small_tokens(cost, 1.0, 2000), 0);
  EXPECT_EQ(most_small_tokens(cost, 0, 0), 0);
  EXPECT_EQ(prompt_size(0, 17), 17);
}

}  // namespace
}  // namespace kvasir::sched

#include "ops/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "ops/random_tensor_test.h"

namespace kvasir::ops {
namespace {

std::vector<std::int32_t> experts_of(const RouterArgs& args, const std::vector<float>& logits) {
  ExpertPlan plan;
  route(args, logits, plan);
  return plan.experts;
}

TEST(Route, SoftmaxOfTheBestAddsUp) {
  const std::vector<float> logits = {0, 3, 1, 2};
  ExpertPlan plan;
  route({.num_experts = 4, .num_used = 2, .scale = 2}, logits, plan);
  EXPECT_EQ(plan.experts, (std::vector<std::int32_t>{1, 3}));
  EXPECT_NEAR(plan.weights[0], 2 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(plan.weights[0] + plan.weights[1], 2, 1e-6);

  route({.num_experts = 4, .num_used = 2, .renormalize = false}, logits, plan);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  EXPECT_NEAR(plan.weights[0], std::exp(3.0) / sum, 1e-6);
  EXPECT_NEAR(plan.weights[1], std::exp(2.0) / sum, 1e-6);
}

TEST(Route, BiasPicksAndDoesNotWeigh) {
  const std::vector<float> logits = {0, 1, 2, 3};
  const std::vector<float> bias = {9, 0, 0, 0};
  ExpertPlan plan;
  route({.score = RouterScore::sigmoid,
         .num_experts = 4,
         .num_used = 2,
         .renormalize = false,
         .scale = 2.5f,
         .selection_bias = bias},
        logits, plan);
  EXPECT_EQ(plan.experts, (std::vector<std::int32_t>{0, 3}));
  EXPECT_NEAR(plan.weights[0], 2.5 * 0.5, 1e-6);
  EXPECT_NEAR(plan.weights[1], 2.5 / (1 + std::exp(-3.0)), 1e-6);
}

TEST(Route, OnlyTheBestGroupsTakePart) {
  // The groups are {0, 1}, {2, 3} and {4, 5}. The best single expert is 4; the best pair is {2, 3}.
  const std::vector<float> logits = {-9, -9, 2, 2, 4, -9};
  RouterArgs args = {.score = RouterScore::sigmoid, .num_experts = 6, .num_used = 2, .num_groups = 3};
  args.group_by_top_two = true;
  EXPECT_EQ(experts_of(args, logits), (std::vector<std::int32_t>{2, 3}));
  args.group_by_top_two = false;
  EXPECT_EQ(experts_of(args, logits), (std::vector<std::int32_t>{4, 5}));
  args.used_groups = 3;
  EXPECT_EQ(experts_of(args, logits), (std::vector<std::int32_t>{4, 2}));
}

TEST(Route, EqualsAndNaNsHaveAnOrder) {
  EXPECT_EQ(experts_of({.num_experts = 3, .num_used = 3}, {1, 1, 1}), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(experts_of({.num_experts = 3, .num_used = 2}, {NAN, NAN, NAN}),
            (std::vector<std::int32_t>{0, 1}));
}

// Each row gets the weighted sum over its own experts, whatever the other rows are.
TEST(Experts, GatherAndCombineAreARowsOwn) {
  std::mt19937 random(1);
  ComputePool pool(2);
  Context context(pool);
  constexpr std::size_t kRows = 23;
  constexpr std::size_t kDim = 33;
  const RouterArgs args = {.num_experts = 5, .num_used = 3};
  const std::vector<float> logits = random_floats(kRows * 5, random);
  const std::vector<float> rows = random_floats(kRows * kDim, random);
  const auto run = [&](std::size_t first, std::size_t count) {
    ExpertPlan plan;
    route(args, std::span(logits).subspan(first * 5, count * 5), plan);
    std::vector<float> slots(count * 3 * kDim);
    gather_rows(context, plan, std::span(rows).subspan(first * kDim, count * kDim), slots);
    // Expert e multiplies by e + 1.
    for (std::size_t e = 0; e < 5; ++e) {
      for (auto s = static_cast<std::size_t>(plan.first_slots[e]) * kDim;
           s < static_cast<std::size_t>(plan.first_slots[e + 1]) * kDim; ++s)
        slots[s] *= static_cast<float>(e + 1);
    }
    std::vector<float> out(count * kDim);
    combine_slots(context, plan, slots, out);
    for (std::size_t r = 0; r < count; ++r) {
      float factor = 0;
      for (std::size_t i = 0; i < 3; ++i)
        factor += plan.weights[r * 3 + i] * static_cast<float>(plan.experts[r * 3 + i] + 1);
      for (std::size_t d = 0; d < kDim; ++d)
        EXPECT_NEAR(out[r * kDim + d], factor * rows[(first + r) * kDim + d], 1e-5);
    }
    return out;
  };
  const std::vector<float> together = run(0, kRows);
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::vector<float> alone = run(r, 1);
    EXPECT_TRUE(
        std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(r * kDim)));
  }
}

}  // namespace
}  // namespace kvasir::ops

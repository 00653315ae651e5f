#include "sched/reachable_slo.h"

#include <gtest/gtest.h>

namespace kvasir::sched {
namespace {

StepCost even_device(double step_s, double row_s) {
  StepCost cost;
  for (int round = 0; round < 10; ++round)
    for (const int rows : {1, 8, 32, 64, 256, 512}) {
      StepLoad prompt;
      prompt.add(0, rows);
      cost.observe(prompt, step_s + rows * row_s);
      cost.observe({.decode_sequences = rows}, step_s + rows * row_s);
    }
  return cost;
}

TEST(ReachableSlo, IsWhatPeopleWantWhereTheDeviceCan) {
  const ReachableSlo reached = reachable_slo(even_device(0.004, 15e-6), 512, {});
  EXPECT_EQ(reached.slo.ttft_s, 0.5);
  EXPECT_EQ(reached.slo.tpot_s, 0.05);
  EXPECT_EQ(reached.reason, "");
}

TEST(ReachableSlo, IsWhatASlowDeviceCanDoWithTheReason) {
  const ReachableSlo reached = reachable_slo(even_device(0.045, 0.0053), 64, {});
  EXPECT_NEAR(reached.slo.tpot_s, 1.95 * 0.385, 0.04);
  EXPECT_NEAR(reached.slo.ttft_s, 3 * 1.40, 0.3);
  EXPECT_NE(reached.reason.find("a prompt of 256 tokens takes 1"), std::string::npos) << reached.reason;
  EXPECT_NE(reached.reason.find("a step of 64 streams takes 3"), std::string::npos) << reached.reason;
}

TEST(ReachableSlo, WhatIsAskedForStays) {
  const ReachableSlo reached = reachable_slo(even_device(0.045, 0.0053), 64, {.ttft_s = 1, .tpot_s = 0.1});
  EXPECT_EQ(reached.slo.ttft_s, 1);
  EXPECT_EQ(reached.slo.tpot_s, 0.1);
  EXPECT_EQ(reached.reason, "");
}

}  // namespace
}  // namespace kvasir::sched

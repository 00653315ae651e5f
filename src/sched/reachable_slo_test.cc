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
  EXPECT_NEAR(reached.slo.tpot_s, 1.7 * 0.385, 0.04);
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

TEST(ReachableSlo, FallsOnceTheDeviceProvesFaster) {
  const StepCost busy = even_device(0.09, 0.0106);
  const StepCost quiet = even_device(0.045, 0.0053);
  const ReachableSlo at_start = reachable_slo(busy, 64, {});
  const ReachableSlo in_truth = reachable_slo(quiet, 64, {});
  const Slo now = tightened_slo(quiet, 64, at_start.least, at_start.slo);
  EXPECT_DOUBLE_EQ(now.tpot_s, in_truth.slo.tpot_s);
  EXPECT_DOUBLE_EQ(now.ttft_s, in_truth.slo.ttft_s);
  // The result is never below the wanted SLO and never above the one at the start.
  EXPECT_EQ(tightened_slo(even_device(0.001, 1e-5), 64, at_start.least, at_start.slo).tpot_s, 0.05);
  EXPECT_EQ(tightened_slo(busy, 64, in_truth.least, in_truth.slo).tpot_s, in_truth.slo.tpot_s);
}

TEST(ReachableSlo, StaysWhereAPredictionIsALittleOff) {
  const ReachableSlo at_start = reachable_slo(even_device(0.045, 0.0053), 64, {});
  const Slo now = tightened_slo(even_device(0.038, 0.0044), 64, at_start.least, at_start.slo);
  EXPECT_EQ(now.tpot_s, at_start.slo.tpot_s);
  EXPECT_EQ(now.ttft_s, at_start.slo.ttft_s);
}

TEST(ReachableSlo, WhatIsAskedForDoesNotFall) {
  const ReachableSlo asked = reachable_slo(even_device(0.09, 0.0106), 64, {.ttft_s = 9, .tpot_s = 2});
  const Slo now = tightened_slo(even_device(0.001, 1e-5), 64, asked.least, asked.slo);
  EXPECT_EQ(now.ttft_s, 9);
  EXPECT_EQ(now.tpot_s, 2);
}

}  // namespace
}  // namespace kvasir::sched

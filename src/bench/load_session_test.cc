#include "bench/load_session.h"

#include <gtest/gtest.h>

namespace kvasir::bench {
namespace {

TEST(LoadSession, HasAPhaseForEachLoad) {
  const auto phases = plan_phases({.concurrency = {1, 32}});
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].num_requests, 16);
  EXPECT_EQ(phases[1].num_requests, 128);
  EXPECT_NE(phases[0].number, phases[1].number);
  const auto open = plan_phases({.rates = {2.5}, .duration_s = 10});
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].concurrency, 0);
  EXPECT_EQ(open[0].rate, 2.5);
  EXPECT_EQ(open[0].num_requests, 0);
}

TEST(LoadSession, ATraceWithTimesIsOnePhaseAtThoseTimes) {
  SessionOptions options{.speed = 2};
  options.trace =
      parse_trace("{\"arrival_s\": 1, \"input_length\": 3}\n{\"arrival_s\": 5, \"input_length\": 3}\n")
          .value();
  const auto phases = plan_phases(options);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].arrivals_s, (std::vector<double>{0, 2}));
  EXPECT_EQ(phases[0].num_requests, 2);
  // If there is a concurrency, the times of the trace are ignored.
  options.concurrency = {1};
  EXPECT_TRUE(plan_phases(options).at(0).arrivals_s.empty());
  EXPECT_EQ(plan_phases(options).at(0).num_requests, 2);
}

TEST(PlanPhases, BurstsComeByRate) {
  SessionOptions options;
  options.rates = {2};
  EXPECT_EQ(plan_phases(options).at(0).burst, 1);
  options.shape.kind = WorkloadKind::burst;
  options.shape.burst = 12;
  EXPECT_EQ(plan_phases(options).at(0).burst, 12);
}

}  // namespace
}  // namespace kvasir::bench

#include "bench/sim_session.h"

#include <gtest/gtest.h>

namespace kvasir::bench {
namespace {

SimOptions cpu_burst(double target_step_s) {
  SimOptions options{.device = "cpu", .costs = sim::cpu_costs(), .template_tokens = 30};
  options.session.workload = "chat";
  options.session.concurrency = {32};
  options.session.num_requests = 32;
  options.scheduler = {.num_blocks = 2300,
                       .max_batch_tokens = 512,
                       .max_batch_sequences = 64,
                       .target_step_s = target_step_s,
                       .short_step_s = 0.15};
  return options;
}

// 32 clients at once, with 200 tokens in and 64 out, are the case for which step lengths are chosen.
TEST(SimSession, ChosenStepsServeABurstFasterAndKeepGapsShort) {
  const LoadReport fixed = run_sim(cpu_burst(0.15)).value();
  const LoadReport chosen = run_sim(cpu_burst(0)).value();
  ASSERT_EQ(chosen.phases.size(), 1u);
  EXPECT_GT(chosen.phases[0].output_tokens_per_s, 1.3 * fixed.phases[0].output_tokens_per_s);
  EXPECT_LT(chosen.phases[0].ttft_s.p95, 0.7 * fixed.phases[0].ttft_s.p95);
  EXPECT_LT(chosen.phases[0].longest_gap_s, 0.7);
  EXPECT_NE(chosen.notes.at(0).find("a step of 64 streams takes"), std::string::npos) << chosen.notes[0];
}

TEST(SimSession, OneStreamIsAsBefore) {
  SimOptions chosen = cpu_burst(0);
  SimOptions fixed = cpu_burst(0.15);
  chosen.session.concurrency = fixed.session.concurrency = {1};
  chosen.session.num_requests = fixed.session.num_requests = 4;
  EXPECT_NEAR(run_sim(chosen).value().phases[0].output_tokens_per_s,
              run_sim(fixed).value().phases[0].output_tokens_per_s, 0.5);
}

TEST(SimSession, ArrivalsByRateAndSharedPrefixes) {
  SimOptions options = cpu_burst(0);
  options.session.concurrency.clear();
  options.session.rates = {0.2, 0.4};
  options.session.num_requests = 20;
  options.session.shape.kind = WorkloadKind::prefix;
  options.session.shape.prefix_tokens = 64;
  const LoadReport report = run_sim(options).value();
  ASSERT_EQ(report.phases.size(), 2u);
  for (const PhaseSummary& phase : report.phases) {
    EXPECT_EQ(phase.num_ok, 20);
    EXPECT_GE(phase.cached_tokens, 19 * 80);
  }
}

TEST(SimSession, HasNoTurns) {
  SimOptions options = cpu_burst(0);
  options.session.shape.kind = WorkloadKind::multi_turn;
  EXPECT_FALSE(run_sim(options).ok());
}

}  // namespace
}  // namespace kvasir::bench

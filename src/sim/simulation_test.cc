#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "sched/reachable_slo.h"

namespace kvasir::sim {
namespace {

SimLoad load_of(int concurrency, int num_requests, int prompt, int output) {
  return {.concurrency = concurrency, .num_requests = num_requests, .request = [=](std::uint64_t index) {
            SimRequest request{.output_tokens = output};
            for (int i = 0; i < prompt; ++i) request.prompt.push_back(TokenId(1000 * (index + 1) + i));
            return request;
          }};
}

const sched::SchedulerOptions kScheduler{
    .num_blocks = 4096, .max_batch_tokens = 512, .max_batch_sequences = 64};

DeviceCosts even_device() {
  return {.points = {{1, 0.011}, {2, 0.012}}};  // 10 ms, and 1 ms per row
}

TEST(Simulation, OneClientWaitsForItsRowsOnly) {
  const SimRun run = simulate(kScheduler, even_device(), load_of(1, 3, 20, 5), 1);
  ASSERT_EQ(run.records.size(), 3u);
  for (const SimRecord& record : run.records) {
    ASSERT_EQ(record.tokens_s.size(), 5u);
    EXPECT_NEAR(record.tokens_s[0] - record.arrived_s, 0.030, 1e-9);
    EXPECT_NEAR(record.tokens_s[4] - record.tokens_s[0], 4 * 0.011, 1e-9);
  }
  EXPECT_NEAR(run.end_s, 3 * 0.074, 1e-9);
}

TEST(Simulation, StepsThatOverlapGiveTheSameTokensAndSeeArrivalsLater) {
  DeviceCosts overlapping = even_device();
  overlapping.overlaps = true;
  SimLoad load = load_of(0, 0, 20, 5);
  load.arrivals_s = {0, 0.001};
  const SimRun one_by_one = simulate(kScheduler, even_device(), load, 1);
  const SimRun overlapped = simulate(kScheduler, overlapping, load, 1);
  const auto first_of_second = [](const SimRun& run) {
    return std::ranges::max_element(run.records, {}, &SimRecord::arrived_s)->tokens_s[0];
  };
  EXPECT_EQ(overlapped.stats.num_output_tokens, 10);
  EXPECT_NEAR(first_of_second(one_by_one), 0.030 + 0.031, 1e-9);
  EXPECT_NEAR(first_of_second(overlapped), 0.030 + 0.011 + 0.031, 1e-9);
}

TEST(Simulation, RequestsThatDoNotFitAreRefused) {
  sched::SchedulerOptions small = kScheduler;
  small.num_blocks = 2;
  SimLoad load = load_of(0, 0, 40, 5);
  load.arrivals_s = {0, 1};
  EXPECT_EQ(simulate(small, even_device(), load, 1).num_refused, 2);
}

// Measured on a real CPU with steps of 300, 600 and 1,000 ms, 32 clients at once, prompts of 200 tokens (30
// of them from the template) and answers of 64. The simulation must be within a tenth of each result.
TEST(Simulation, IsWithinATenthOfRealRuns) {
  struct Measured {
    double target_s, tokens_per_s, ttft_p50_s, ttft_p95_s;
  };
  for (const Measured real :
       {Measured{0.3, 41.9, 21.9, 41.6}, {0.6, 46.7, 17.8, 34.2}, {1.0, 50.3, 14.5, 28.2}}) {
    sched::SchedulerOptions options = kScheduler;
    options.target_step_s = real.target_s;
    SimLoad load = load_of(32, 32, 170, 64);
    const SimRun run = simulate(options, cpu_costs(), load, 1);
    std::vector<double> ttft_s;
    for (const SimRecord& record : run.records) ttft_s.push_back(record.tokens_s[0] - record.arrived_s);
    std::ranges::sort(ttft_s);
    EXPECT_NEAR(32 * 64 / run.end_s / real.tokens_per_s, 1, 0.1) << real.target_s;
    EXPECT_NEAR((ttft_s[15] + ttft_s[16]) / 2 / real.ttft_p50_s, 1, 0.15) << real.target_s;
    EXPECT_NEAR(ttft_s[30] / real.ttft_p95_s, 1, 0.1) << real.target_s;
  }
}

// A small model on a CPU that serves about four such requests a second within its SLOs.
struct OpenLoad {
  sched::SchedulerOptions options = kScheduler;
  DeviceCosts costs = cpu_costs();
  SimLoad load;
  std::vector<std::pair<int, int>> lengths;  // prompt and answer

  OpenLoad(double per_s, double seconds, SimLoad::Forecasts forecasts) {
    for (CostPoint& point : costs.points) point.seconds /= 10;
    costs.kv_token_s /= 10;
    costs.prefill_kv_token_s /= 10;
    costs.noise = 0.05;
    options.target_step_s = 0;
    options.cost = calibrated_cost(costs, options.max_batch_sequences, options.max_batch_tokens);
    const sched::ReachableSlo reachable = reachable_slo(options.cost, options.max_batch_sequences, {});
    options.slo = reachable.slo;
    options.least_slo = reachable.least;
    std::mt19937_64 random(1);
    std::exponential_distribution<double> gap(per_s);
    for (double at_s = gap(random); at_s < seconds; at_s += gap(random)) load.arrivals_s.push_back(at_s);
    std::lognormal_distribution<double> prompt(std::log(150), 0.7);
    std::lognormal_distribution<double> answer(std::log(80), 0.7);
    for (std::size_t i = 0; i < load.arrivals_s.size(); ++i)
      lengths.emplace_back(std::clamp(static_cast<int>(prompt(random)), 8, 1500),
                           std::clamp(static_cast<int>(answer(random)), 2, 600));
    load.forecasts = forecasts;
    load.request = [this](std::uint64_t index) {
      SimRequest request{.output_tokens = lengths[index].second};
      for (int i = 0; i < lengths[index].first; ++i)
        request.prompt.push_back(TokenId(1'000'000 + 2000 * index + i));
      return request;
    };
  }

  SimRun run() const { return simulate(options, costs, load, 1); }
};

double first_token_s(const SimRecord& record) {
  return record.tokens_s[0] - record.arrived_s;
}

bool is_good(const SimRecord& record, const sched::Slo& slo) {
  const double span_s = record.tokens_s.back() - record.tokens_s[0];
  const double tpot_s = span_s / std::max<double>(1, static_cast<double>(record.tokens_s.size()) - 1);
  return first_token_s(record) <= slo.ttft_s && tpot_s <= slo.tpot_s;
}

constexpr auto kAdmitAll = SimLoad::Forecasts::made;
constexpr auto kRefuseLate = SimLoad::Forecasts::refuse;

TEST(Forecast, IsWithinAQuarterForNineOfTenRequests) {
  const OpenLoad open(2.6, 200, kAdmitAll);
  const SimRun run = open.run();
  ASSERT_GT(run.records.size(), 400u);
  const auto near = [](const SimRecord& record) {
    return std::abs(record.predicted_s / first_token_s(record) - 1) <= 0.25;
  };
  EXPECT_GE(std::ranges::count_if(run.records, near), 0.9 * static_cast<double>(run.records.size()));
}

TEST(Forecast, AdmissionByItKeepsGoodputUnderOverload) {
  const auto num_good = [](double per_s, SimLoad::Forecasts forecasts) {
    const OpenLoad open(per_s, 200, forecasts);
    const SimRun run = open.run();
    return std::ranges::count_if(run.records,
                                 [&](const SimRecord& record) { return is_good(record, open.options.slo); });
  };
  const auto most = num_good(4, kAdmitAll);
  EXPECT_GE(num_good(12, kRefuseLate), 0.9 * static_cast<double>(most));
  EXPECT_LE(num_good(12, kAdmitAll), 0.5 * static_cast<double>(most)) << "most are late";
}

TEST(Forecast, AnIdleMachineRefusesNobody) {
  OpenLoad open(0.05, 600, kRefuseLate);
  for (auto& [prompt, answer] : open.lengths) prompt = 1500;
  EXPECT_EQ(open.run().num_overload, 0);
}

TEST(CostPoints, AreReadOrRefused) {
  const auto points = parse_cost_points("1:50,8:91.5").value();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[1].rows, 8);
  EXPECT_NEAR(points[1].seconds, 0.0915, 1e-12);
  for (const char* wrong : {"", "1:50", "8:50,1:40", "1:50,x", "1:50,2:-3", "1:50,2:3ms", "1:50,2"})
    EXPECT_FALSE(parse_cost_points(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace kvasir::sim

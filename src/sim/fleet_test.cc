#include "sim/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include "sched/reachable_slo.h"

namespace kvasir::sim {
namespace {

constexpr TokenId kSystem = 1 << 20;
constexpr TokenId kOwn = 1 << 26;

// Talks of six turns that share 32 system prompts of 2,048 tokens, on H200s with an 8B model.
struct Talks {
  int num_users = 400;
  int num_requests = 6000;
  int num_groups = 32;
  int system_tokens = 2048;
  int turn_tokens = 200;
  int output_tokens = 150;
  double think_s = 5;

  FleetLoad load() const {
    return {
        .num_users = num_users,
        .num_requests = num_requests,
        .think_s = think_s,
        .seed = 5,
        .talk = [*this](std::uint64_t index) {
          std::mt19937_64 random(index);
          FleetTalk talk;
          const auto group = static_cast<TokenId>(random() % static_cast<std::uint64_t>(num_groups));
          for (int i = 0; i < system_tokens; ++i) talk.opening.push_back(kSystem + group * 8192 + i);
          for (int t = 0; t < 6; ++t) {
            FleetTalk::Turn& turn = talk.turns.emplace_back();
            const auto half = static_cast<std::uint64_t>(turn_tokens) / 2;
            const auto length = static_cast<int>(half + random() % (2 * half));
            for (int i = 0; i < length; ++i)
              turn.tokens.push_back(kOwn + static_cast<TokenId>((index * 7919 + t * 1009 + i) % (1u << 30)));
            turn.output_tokens = output_tokens / 2 + static_cast<int>(random() % output_tokens);
          }
          return talk;
        }};
  }
};

FleetOptions h200s(std::string policy) {
  FleetOptions options{.policy = std::move(policy),
                       .scheduler = {.num_blocks = 60000,
                                     .max_batch_tokens = 8192,
                                     .max_batch_sequences = 512,
                                     .target_step_s = 0,
                                     .short_step_s = 0.013,
                                     .prefill_share = 0.55,
                                     .min_batch_decodes = 512},
                       .costs = gpu_costs()};
  options.costs.overlaps = false;
  options.scheduler.cost = calibrated_cost(options.costs, 512, 8192);
  const sched::ReachableSlo reached = sched::reachable_slo(options.scheduler.cost, 512, {});
  options.scheduler.slo = reached.slo;
  options.scheduler.least_slo = reached.least;
  return options;
}

struct Figures {
  double requests_per_s = 0;
  double ttft_p50_s = 0;
  double ttft_p95_s = 0;
  double cached = 0;  // part of all prompt tokens

  std::string words() const {
    return fmt::format("{:.1f} requests/s, TTFT {:.0f} and {:.0f} ms, {:.1f} % cached", requests_per_s,
                       ttft_p50_s * 1e3, ttft_p95_s * 1e3, cached * 100);
  }
};

Figures figures_of(const FleetRun& run) {
  std::vector<double> ttft_s;
  const std::size_t cold = run.all.records.size() / 3;  // requests while the caches fill
  for (const SimRecord& record : run.all.records | std::views::drop(cold))
    ttft_s.push_back(record.tokens_s[0] - record.arrived_s);
  std::ranges::sort(ttft_s);
  const auto at = [&](double part) {
    return ttft_s[static_cast<std::size_t>(part * (double(ttft_s.size()) - 1))];
  };
  return {.requests_per_s = double(ttft_s.size()) / (run.all.end_s - run.all.records[cold].tokens_s.back()),
          .ttft_p50_s = at(0.5),
          .ttft_p95_s = at(0.95),
          .cached = double(run.num_cached_tokens) / double(run.num_prompt_tokens)};
}

Figures simulated(const FleetOptions& options, const Talks& talks) {
  return figures_of(simulate_fleet(options, talks.load(), 1));
}

TEST(Fleet, EveryTurnIsAnsweredOnce) {
  Talks talks{.num_users = 10, .num_requests = 60, .num_groups = 2, .system_tokens = 64};
  for (const char* policy : {"cache", "least_loaded", "round_robin", "random"}) {
    const FleetRun run = simulate_fleet(h200s(policy), talks.load(), 1);
    EXPECT_EQ(run.all.records.size(), 60u) << policy;
    EXPECT_EQ(run.all.num_refused, 0);
    EXPECT_EQ(run.requests.size(), 4u);
    const FleetRun again = simulate_fleet(h200s(policy), talks.load(), 1);
    EXPECT_EQ(again.requests, run.requests) << "the same seed gives the same run";
    EXPECT_EQ(again.all.end_s, run.all.end_s);
  }
}

// 256 system prompts of 4,096 tokens are more than one worker's cache can hold.
TEST(Fleet, TheCachePolicyServesAlmostTwiceAsMuchAsRoundRobin) {
  const Talks talks{.num_users = 700,
                    .num_requests = 4500,
                    .num_groups = 256,
                    .system_tokens = 4096,
                    .turn_tokens = 300,
                    .output_tokens = 100};
  const Figures in_turn = simulated(h200s("round_robin"), talks);
  const Figures by_cache = simulated(h200s("cache"), talks);
  EXPECT_GE(by_cache.requests_per_s, 1.9 * in_turn.requests_per_s)
      << by_cache.words() << "; " << in_turn.words();
  EXPECT_LE(by_cache.ttft_p95_s, 0.5 * in_turn.ttft_p95_s) << by_cache.words() << "; " << in_turn.words();
}

}  // namespace
}  // namespace kvasir::sim

// Tenants that share one scheduler on a device with simple costs: who gets how much, and who waits how long.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sched/tenant_device_test.h"

namespace kvasir::sched {
namespace {

SchedulerOptions ample() {
  return {.num_blocks = 4096,
          .max_batch_sequences = 16,
          .target_step_s = 0,
          .slo = {.ttft_s = 0.5, .tpot_s = 0.1},
          .short_step_s = 0.05};
}

double ratio(Device& device, const std::string& a, const std::string& b) {
  return static_cast<double>(device.served[a].tokens) / static_cast<double>(device.served[b].tokens);
}

TEST(Shares, TenantsWithWorkGetEqualTokensWhateverTheyAskFor) {
  Device device(ample());
  device.keep({.tenant = "modest"}, 20);
  device.keep({.tenant = "greedy"}, 200);
  device.run_for(20);
  device.served.clear();
  device.run_for(200);
  EXPECT_NEAR(ratio(device, "greedy", "modest"), 1, 0.05);
}

TEST(Shares, TokensFollowTheWeights) {
  Device device(ample());
  device.keep({.tenant = "light", .weight = 1}, 40);
  device.keep({.tenant = "heavy", .weight = 3}, 40);
  device.run_for(20);
  device.served.clear();
  device.run_for(200);
  EXPECT_NEAR(ratio(device, "heavy", "light"), 3, 0.15);
}

// One tenant sends long prompts, the other wants long answers: tokens count, not requests.
TEST(Shares, TokensCountNotRequests) {
  Device device(ample());
  device.keep({.tenant = "reads", .num_prompt = 400, .num_output = 4}, 40);
  device.keep({.tenant = "writes", .num_prompt = 16, .num_output = 200}, 40);
  device.run_for(40);
  device.served.clear();
  device.run_for(400);
  EXPECT_NEAR(ratio(device, "reads", "writes"), 1, 0.1);
}

TEST(Shares, IdlenessSavesNothingUp) {
  Device device(ample());
  device.keep({.tenant = "early"}, 40);
  device.run_for(100);
  device.keep({.tenant = "late"}, 40);
  device.run_for(10);
  device.served.clear();
  device.run_for(100);
  EXPECT_NEAR(ratio(device, "late", "early"), 1, 0.05);
}

// Streams that are far from their end leave no place for others, unless they have to give way.
TEST(Shares, ANewTenantDoesNotWaitForTheStreamsOfAnother) {
  Device device(ample());
  for (int i = 0; i < 500; ++i) device.submit({.tenant = "flood", .num_output = 2000});
  device.run_for(5);
  const double asked_s = device.now_s();
  const SequenceId id = device.submit({.tenant = "guest"});
  device.run_for(1);
  ASSERT_GT(device.first_token_s(id), 0);
  EXPECT_LT(device.first_token_s(id) - asked_s, 0.5);
  EXPECT_GT(device.scheduler().stats().num_preemptions, 0);
}

TEST(Shares, ChoicesOfOneRequestTakeTurnsWithTheTenantsNextRequest) {
  Device device(ample());
  for (int i = 0; i < 6; ++i)
    for (int choice = 0; choice < 128; ++choice)
      device.submit({.tenant = "one address", .num_output = 1000}, "request " + std::to_string(i));
  device.run_for(5);
  const double asked_s = device.now_s();
  const SequenceId id = device.submit({.tenant = "one address"}, "another");
  device.run_for(1);
  ASSERT_GT(device.first_token_s(id), 0);
  EXPECT_LT(device.first_token_s(id) - asked_s, 0.5);
}

TEST(Shares, AFloodOfALowerClassIsHardlySeenByAHigherOne) {
  const Client paying{.tenant = "paying", .priority = 2};
  Device quiet(ample());
  quiet.keep(paying, 4);
  quiet.run_for(60);
  Device flooded(ample());
  flooded.keep(paying, 4);
  flooded.keep({.tenant = "free", .priority = 0}, 400);
  flooded.run_for(60);
  // One chunk of the lower class may come in between: 32 ms, beside 142 ms of the quiet ones.
  EXPECT_LT(p95(flooded.served["paying"].ttft_s), 1.25 * p95(quiet.served["paying"].ttft_s));
  EXPECT_LT(p95(flooded.served["paying"].tpot_s), 1.2 * p95(quiet.served["paying"].tpot_s));
  // The lower class gets the time that is set apart for it.
  EXPECT_GT(flooded.served["free"].tokens, flooded.served["paying"].tokens / 40);
}

TEST(Shares, MemoryGoesToTheHigherClass) {
  SchedulerOptions options = ample();
  options.num_blocks = 40;
  Device device(options);
  for (int i = 0; i < 8; ++i) device.submit({.tenant = "free", .num_output = 300});
  device.run_for(2);
  const SequenceId id =
      device.submit({.tenant = "paying", .priority = 2, .num_prompt = 300, .num_output = 8});
  const double asked_s = device.now_s();
  while (device.is_alive(id)) device.step();
  EXPECT_LT(device.now_s() - asked_s, 2);
  while (!device.scheduler().idle()) device.step();
}

TEST(Shares, CachedPrefixesFollowTheWeights) {
  Scheduler scheduler({.num_blocks = 64, .target_step_s = 0});
  // Sends a prompt of a block and a token, and waits for its answer.
  const auto send = [&scheduler](const std::string& tenant, int weight, TokenId number) {
    wire::GenerateRequest request;
    request.prompt.assign(17, number);
    request.max_tokens = 1;
    request.origin = {.tenant = tenant, .weight = weight, .cache_namespace = tenant};
    ASSERT_TRUE(scheduler.submit(std::move(request)).ok());
    while (!scheduler.idle()) {
      const StepPlan plan = scheduler.plan();
      scheduler.commit(plan, {.outcomes = {{.token = wire::Token{.id = 5}}}, .seconds = 0.01});
    }
  };
  for (TokenId i = 0; i < 200; ++i) {
    send("light", 1, i);
    send("heavy", 3, i);
  }
  // Sends the prompts again, the newest first, until one is no longer cached. Each prompt leaves a block and
  // a tail in the cache.
  const auto num_kept = [&](const std::string& tenant, int weight) {
    TokenId i = 200;
    for (std::int64_t cached = -1; i > 0 && cached != scheduler.stats().num_cached_tokens;) {
      cached = scheduler.stats().num_cached_tokens;
      send(tenant, weight, --i);
    }
    return 200 - i - 1;
  };
  EXPECT_NEAR(num_kept("light", 1), 16 / 2, 2);
  EXPECT_NEAR(num_kept("heavy", 3), 48 / 2, 2);
}

TEST(Shares, EverybodyEndsWhateverTheMixture) {
  for (int seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&random](int least, int most) {
      return std::uniform_int_distribution(least, most)(random);
    };
    SchedulerOptions options = ample();
    options.num_blocks = draw(24, 200);
    options.max_batch_sequences = draw(1, 8);
    options.prefix_cache = draw(0, 3) > 0;
    Device device(options);
    std::vector<SequenceId> ids;
    for (int i = 0; i < 60; ++i) {
      const std::string tenant = std::to_string(draw(0, 5));
      ids.push_back(device.submit({.tenant = tenant,
                                   .weight = draw(1, 4),
                                   .priority = draw(0, 2),
                                   .num_prompt = draw(1, 200),
                                   .num_output = draw(2, 100)},
                                  std::to_string(draw(0, 20))));
      for (int steps = draw(0, 3); steps > 0 && !device.scheduler().idle(); --steps) device.step();
    }
    for (int i = 0; i < 20'000 && !device.scheduler().idle() && !HasFatalFailure(); ++i) device.step();
    EXPECT_TRUE(device.scheduler().idle());
  }
}

}  // namespace
}  // namespace kvasir::sched

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

constexpr int kPublic = 320;

// A request whose first `num_public` tokens are shared by all tenants, followed by 20 of its own.
wire::GenerateRequest request_of(const std::string& tenant, int num_public = kPublic) {
  wire::GenerateRequest request;
  request.prompt.resize(num_public);
  std::iota(request.prompt.begin(), request.prompt.end(), 1000);
  request.prompt.resize(num_public + 20, tenant.front());
  request.num_public_tokens = num_public;
  request.origin = {.tenant = tenant, .cache_namespace = tenant};
  request.max_tokens = 2;
  return request;
}

StepPlan step(Scheduler& scheduler) {
  StepPlan plan = scheduler.plan();
  StepResult result{.seconds = 0.001 * plan.load.num_rows()};
  for (std::size_t i = 0; i < plan.slices.size(); ++i)
    result.outcomes.emplace_back().token = wire::Token{.id = 5};
  scheduler.commit(plan, std::move(result));
  return plan;
}

SchedulerOptions options() {
  return {.num_blocks = 1024, .max_batch_tokens = 64, .max_batch_sequences = 16, .target_step_s = 0};
}

TEST(PublicPrefix, TenantsThatComeTogetherComputeItOnce) {
  Scheduler scheduler(options());
  for (const char* tenant : {"a", "b", "c", "d"}) ASSERT_TRUE(scheduler.submit(request_of(tenant)).ok());
  while (!scheduler.idle()) step(scheduler);
  EXPECT_EQ(scheduler.stats().num_prefill_tokens, kPublic + 4 * 20);
  EXPECT_EQ(scheduler.stats().num_cached_tokens, 3 * kPublic);
}

// Rows go to the tenant that was charged least, so a guest does not wait for the prefix of a tenant that
// comes after it.
TEST(PublicPrefix, NobodyWaitsForATenantThatIsServedLater) {
  Scheduler scheduler(options());
  const SequenceId held = scheduler.submit(request_of("held", 16)).value();
  scheduler.hold(held);
  wire::GenerateRequest large = request_of("busy", 0);
  large.prompt.resize(2000, 7);
  ASSERT_TRUE(scheduler.submit(std::move(large)).ok());
  while (scheduler.num_running() + scheduler.num_waiting() > 1) step(scheduler);
  ASSERT_TRUE(scheduler.submit(request_of("busy")).ok());
  step(scheduler);
  const SequenceId guest = scheduler.submit(request_of("guest")).value();
  const StepPlan plan = step(scheduler);
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_EQ(plan.slices[0].sequence, guest);
  scheduler.resume(held);
  while (!scheduler.idle()) step(scheduler);
}

TEST(PublicPrefix, EndsWithThePrompt) {
  Scheduler scheduler(options());
  wire::GenerateRequest talks = request_of("a");
  talks.num_public_tokens = 1 << 20;
  talks.max_tokens = 40;
  std::vector<TokenId> said = talks.prompt;
  said.resize(said.size() + 60, 5);
  ASSERT_TRUE(scheduler.submit(std::move(talks)).ok());
  while (!scheduler.idle()) step(scheduler);
  wire::GenerateRequest asks = request_of("b");
  asks.prompt = said;
  asks.num_public_tokens = 1 << 20;
  ASSERT_TRUE(scheduler.submit(std::move(asks)).ok());
  while (!scheduler.idle()) step(scheduler);
  EXPECT_EQ(scheduler.stats().num_cached_tokens, (kPublic + 20) / 16 * 16);
}

}  // namespace
}  // namespace kvasir::sched

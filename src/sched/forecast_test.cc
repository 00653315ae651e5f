#include <gtest/gtest.h>

#include <utility>

#include "sched/outlook.h"
#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

constexpr double kStepS = 0.01;
constexpr double kRowS = 0.002;

// Runs steps until no sequence is left.
void drain(Scheduler& scheduler) {
  while (!scheduler.idle()) {
    const StepPlan plan = scheduler.plan();
    StepResult result;
    for (const StepPlan::Slice& slice : plan.slices) {
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = 5};
    }
    result.seconds = kStepS + kRowS * plan.load.num_rows();
    scheduler.commit(plan, std::move(result));
  }
}

wire::GenerateRequest request_of(TokenId first, int num_prompt) {
  wire::GenerateRequest request;
  for (int i = 0; i < num_prompt; ++i) request.prompt.push_back(first + i);
  request.max_tokens = 2;
  return request;
}

// Prompts that came a moment ago make the worker expect more of them. Since it runs nothing, only time or a
// request can prove the expectation wrong, so the forecast says that the worker is idle.
TEST(Forecast, AWorkerWithoutWorkIsIdleWhateverCameBefore) {
  Scheduler scheduler({.num_blocks = 4096,
                       .max_batch_tokens = 256,
                       .target_step_s = 0,
                       .slo = {.ttft_s = 0.5, .tpot_s = 0.05}});
  for (int i = 0; i < 64; ++i) {
    scheduler.set_now(0.001 * i);
    ASSERT_TRUE(scheduler.submit(request_of(1000 * (i + 1), 200)).ok());
  }
  const wire::Outline outline{.tenant = "t", .num_prompt_tokens = 1000};
  const wire::Forecast busy = forecast(scheduler.outlook(), {}, outline, 0, 0);
  EXPECT_FALSE(busy.is_idle);
  EXPECT_FALSE(busy.is_within(1));
  drain(scheduler);
  const wire::Forecast idle = forecast(scheduler.outlook(), {}, outline, 0, 0);
  EXPECT_TRUE(idle.is_idle);
  EXPECT_TRUE(idle.is_within(4));
  const WaitingLine arrival{.num_tokens = 10, .num_sequences = 1};
  EXPECT_FALSE(forecast(scheduler.outlook(), {&arrival, 1}, outline, 0, 0).is_idle);
  // A long time later, it expects no more of them.
  EXPECT_LT(forecast(scheduler.outlook(), {}, outline, 0, 1000).expected.ttft_s, idle.expected.ttft_s);
}

}  // namespace
}  // namespace kvasir::sched

// Requests with SLOs of their own on a device that takes 3 ms for a step and a tenth of a millisecond for a
// row.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sched/stream_slo.h"
#include "sched/tenant_device_test.h"

namespace kvasir::sched {
namespace {

constexpr double kStepS = 0.003;
constexpr double kRowS = 0.0001;

SchedulerOptions options() {
  return {.num_blocks = 1 << 16,
          .max_batch_tokens = 2048,
          .max_batch_sequences = 64,
          .target_step_s = 0,
          .slo = {.ttft_s = 0.5, .tpot_s = 0.05},
          .short_step_s = 0.01};
}

// The longest step of the next `seconds`.
double longest_step_s(Device& device, double seconds) {
  double longest_s = 0;
  for (const double end_s = device.now_s() + seconds; device.now_s() < end_s;) {
    device.step();
    longest_s = std::max(longest_s, device.last_step_s);
  }
  return longest_s;
}

Client crowd(int priority = 0) {
  return {.tenant = "crowd", .priority = priority, .num_prompt = 400, .num_output = 2};
}

// One endless stream beside more prompts than can be served in time.
double step_beside_s(const Client& stream, const Client& prompts) {
  Device device(options(), kStepS, kRowS);
  Client endless = stream;
  endless.num_output = 100'000;
  device.submit(endless);
  device.keep(prompts, 200);
  device.run_for(3);
  return longest_step_s(device, 5);
}

TEST(SloClasses, AStrictStreamKeepsStepsShort) {
  EXPECT_NEAR(step_beside_s({.tenant = "ordinary"}, crowd()), 0.045, 0.002);
  EXPECT_NEAR(step_beside_s({.tenant = "strict", .slo_tpot_s = 0.03}, crowd()), 0.027, 0.002);
}

TEST(SloClasses, ALaxStreamLetsStepsBeLonger) {
  Client lax = crowd();
  lax.slo_tpot_s = 0.1;
  EXPECT_NEAR(step_beside_s({.tenant = "lax", .slo_tpot_s = 0.1}, lax), 0.09, 0.003);
}

TEST(SloClasses, AStrictLowerClassDoesNotShortenTheStepsOfAHigherOne) {
  Device device(options(), kStepS, kRowS);
  device.submit({.tenant = "lower", .num_output = 100'000, .slo_tpot_s = 0.005});
  device.submit({.tenant = "higher", .priority = 1, .num_output = 100'000});
  device.keep(crowd(1), 200);
  device.run_for(3);
  const double longest_s = longest_step_s(device, 5);
  EXPECT_GT(longest_s, 0.04);
  EXPECT_LT(longest_s, 0.05);
}

// Lower classes get only time that the SLO of the higher class leaves over.
TEST(SloClasses, AStrictHigherClassMeetsItsSloBesideALowerOne) {
  Device device(options(), kStepS, kRowS);
  Client strict{.tenant = "strict", .priority = 2, .num_prompt = 300, .num_output = 20, .slo_tpot_s = 0.03};
  device.keep(strict, 48);
  device.keep({.tenant = "free", .num_prompt = 400}, 200);
  device.run_for(5);
  device.served.clear();
  device.run_for(20);
  EXPECT_LT(p95(device.served["strict"].tpot_s), 0.03);
  EXPECT_GT(device.served["free"].tokens, 0);
}

TEST(SloClasses, AStrictTtftIsMetByMorePrefill) {
  const auto ttft_p95_s = [](double slo_ttft_s) {
    Device device(options(), kStepS, kRowS);
    device.keep({.tenant = "streams", .num_prompt = 16, .num_output = 400}, 16);
    device.run_for(2);
    device.served.clear();
    for (int i = 0; i < 20; ++i) {
      for (int j = 0; j < 4; ++j)
        device.submit({.tenant = "asks", .num_prompt = 200, .num_output = 2, .slo_ttft_s = slo_ttft_s});
      device.run_for(1);
    }
    return p95(device.served["asks"].ttft_s);
  };
  const double ordinary_s = ttft_p95_s(0);
  EXPECT_GT(ordinary_s, 0.12);
  EXPECT_LT(ttft_p95_s(0.12), 0.12);
  EXPECT_GT(ttft_p95_s(4), 1.2 * ordinary_s);
}

TEST(SloClasses, OnlyTheHighestClassOfTheStreamsCounts) {
  std::vector<Sequence> sequences(3);
  std::vector<Grant> streams;
  for (Sequence& sequence : sequences) streams.push_back({.sequence = &sequence});
  EXPECT_EQ(strictest_tpot_s({}, 0.05), 0.05);
  EXPECT_EQ(strictest_tpot_s(streams, 0.05), 0.05);
  sequences[0].request.slo_tpot_s = 0.01;
  sequences[1].request.slo_tpot_s = 0.2;
  EXPECT_EQ(strictest_tpot_s(streams, 0.05), 0.01);
  sequences[1].request.priority = sequences[2].request.priority = 1;
  EXPECT_EQ(strictest_tpot_s(streams, 0.05), 0.05);
  sequences[2].request.slo_tpot_s = 0.3;
  EXPECT_EQ(strictest_tpot_s(streams, 0.05), 0.2);
}

TEST(SloClasses, AnSloOutOfReachStillLetsEverybodyEnd) {
  Device device(options(), kStepS, kRowS);
  for (int i = 0; i < 40; ++i)
    device.submit({.tenant = "a", .num_prompt = 300, .slo_ttft_s = 1e-6, .slo_tpot_s = 1e-6});
  for (int i = 0; i < 40; ++i) device.submit({.tenant = "b", .num_prompt = 300});
  for (int i = 0; i < 5'000 && !device.scheduler().idle(); ++i) device.step();
  EXPECT_TRUE(device.scheduler().idle());
  EXPECT_LT(device.now_s(), 6);
}

}  // namespace
}  // namespace kvasir::sched

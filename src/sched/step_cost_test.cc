#include "sched/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvasir::sched {
namespace {

// A device whose time really is such a sum.
struct Device {
  double step, prefill, decode, kv;
  double seconds(const StepLoad& load) const {
    return step + prefill * load.prefill_tokens + decode * load.decode_sequences +
           kv * double(load.kv_tokens);
  }
};

StepLoad random_load(std::mt19937& random) {
  StepLoad load;
  load.prefill_tokens = random() % 3 == 0 ? 0 : int(random() % 300);
  load.decode_sequences = int(random() % 16);
  load.kv_tokens = load.prefill_tokens * 200 + load.decode_sequences * int(random() % 2000) + 1;
  return load;
}

double worst_relative_error(const StepCost& cost, const Device& device) {
  std::mt19937 random(99);
  double worst = 0;
  for (int i = 0; i < 200; ++i) {
    const StepLoad load = random_load(random);
    const double real = device.seconds(load);
    worst = std::max(worst, std::abs(cost.predict_s(load) - real) / real);
  }
  return worst;
}

constexpr Device kLaptop{0.02, 0.004, 0.06, 2e-6};
constexpr Device kServer{0.001, 0.0001, 0.0005, 2e-8};

TEST(StepCost, ConvergesToTheDevice) {
  for (const Device& device : {kLaptop, kServer}) {
    StepCost cost;
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      const StepLoad load = random_load(random);
      cost.observe(load, device.seconds(load));
    }
    EXPECT_LT(worst_relative_error(cost, device), 0.02);
  }
}

TEST(StepCost, FollowsADeviceThatBecomesSlower) {
  StepCost cost;
  std::mt19937 random(2);
  for (const Device& device : {kServer, kLaptop}) {
    for (int i = 0; i < 600; ++i) {
      const StepLoad load = random_load(random);
      cost.observe(load, device.seconds(load));
    }
  }
  EXPECT_LT(worst_relative_error(cost, kLaptop), 0.1);
}

TEST(StepCost, IsNotCarriedAwayByNoiseAndStalls) {
  StepCost cost;
  std::mt19937 random(3);
  std::lognormal_distribution<double> noise(0, 0.05);
  for (int i = 0; i < 1000; ++i) {
    const StepLoad load = random_load(random);
    const double stall = random() % 20 == 0 ? 50 : 1;
    cost.observe(load, kLaptop.seconds(load) * noise(random) * stall);
  }
  EXPECT_LT(worst_relative_error(cost, kLaptop), 0.15);
}

TEST(StepCost, NeverPredictsLessForMoreWork) {
  StepCost cost;
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    // Times that have nothing to do with the load.
    cost.observe(random_load(random), 0.001 + double(random() % 1000) / 1000);
    const StepLoad load = random_load(random);
    StepLoad more = load;
    more.prefill_tokens += 10;
    more.kv_tokens += 100;
    ASSERT_GE(cost.predict_s(more), cost.predict_s(load));
    ASSERT_GE(cost.predict_s(load), 0);
  }
}

TEST(StepCost, KeepsWhatRecentStepsSayNothingAbout) {
  StepCost cost;
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const StepLoad load = random_load(random);
    cost.observe(load, kLaptop.seconds(load));
  }
  for (int i = 0; i < 5000; ++i) {
    const StepLoad load{.decode_sequences = 2, .kv_tokens = 1000};
    cost.observe(load, kLaptop.seconds(load));
  }
  const StepLoad prefill{.prefill_tokens = 128, .decode_sequences = 2, .kv_tokens = 20000};
  EXPECT_NEAR(cost.predict_s(prefill) / kLaptop.seconds(prefill), 1, 0.1);
}

TEST(StepCost, RoomFillsTheTarget) {
  StepCost cost;
  const StepLoad running{.decode_sequences = 2, .kv_tokens = 500};
  const double target_s = cost.predict_s(running) + 0.1;
  const double room = cost.prefill_room(running, target_s, 100);
  ASSERT_GT(room, 0);
  const StepLoad full{.prefill_tokens = int(room), .decode_sequences = 2, .kv_tokens = 500 + int(room) * 100};
  EXPECT_NEAR(cost.predict_s(full), target_s, 0.005);
  EXPECT_LT(cost.prefill_room(running, 0.001, 100), 0);
}

TEST(StepCost, SurvivesAbsurdTimes) {
  StepCost cost;
  for (const double seconds : {0.0, -1.0, 1e300, std::nan(""), double(INFINITY)})
    cost.observe({.prefill_tokens = 5, .decode_sequences = 1, .kv_tokens = 10}, seconds);
  EXPECT_TRUE(std::isfinite(cost.predict_s({.prefill_tokens = 5, .kv_tokens = 10})));
}

}  // namespace
}  // namespace kvasir::sched

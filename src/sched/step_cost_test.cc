#include "sched/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace kvasir::sched {
namespace {

// A device whose time is exactly a sum of such costs.
struct Device {
  double step, prefill, decode, kv;
  double seconds(const StepLoad& load) const {
    return step + prefill * load.prefill_tokens + decode * load.decode_sequences +
           kv * double(load.kv_tokens) + kv / 4 * double(load.prefill_kv_tokens);
  }
};

StepLoad random_load(std::mt19937& random) {
  StepLoad load;
  load.prefill_tokens = random() % 3 == 0 ? 0 : int(random() % 300);
  load.decode_sequences = int(random() % 16);
  load.kv_tokens = load.decode_sequences * int(random() % 2000) + 1;
  load.prefill_kv_tokens = load.prefill_tokens * 200;
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
    // The times have nothing to do with the load.
    cost.observe(random_load(random), 0.001 + double(random() % 1000) / 1000);
    const StepLoad load = random_load(random);
    StepLoad more = load;
    more.prefill_tokens += 10;
    more.kv_tokens += 100;
    more.prefill_kv_tokens += 100;
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
  const StepLoad prefill{
      .prefill_tokens = 128, .decode_sequences = 2, .kv_tokens = 1000, .prefill_kv_tokens = 20000};
  EXPECT_NEAR(cost.predict_s(prefill) / kLaptop.seconds(prefill), 1, 0.1);
}

TEST(StepCost, RoomFillsTheTarget) {
  StepCost cost;
  const StepLoad running{.decode_sequences = 2, .kv_tokens = 500};
  const double target_s = cost.predict_s(running) + 0.1;
  const int room = cost.prefill_room(running, target_s, 1000);
  ASSERT_GT(room, 0);
  const auto with = [&](int tokens) {
    StepLoad load = running;
    load.prefill_tokens = tokens;
    return cost.predict_s(load);
  };
  EXPECT_LE(with(room), target_s);
  EXPECT_GT(with(room + 1), target_s);
  EXPECT_EQ(cost.prefill_room(running, 0.001, 1000), 0);
  EXPECT_EQ(cost.prefill_room(running, 1e9, 1000), 1000);
}

// A device whose step time depends only on the number of rows, interpolated between points.
struct BentDevice {
  std::vector<std::pair<int, double>> points;
  double seconds(int rows) const {
    std::size_t i = 1;
    while (i + 1 < points.size() && rows > points[i].first) ++i;
    const auto [x0, y0] = points[i - 1];
    const auto [x1, y1] = points[i];
    return y0 + (y1 - y0) * (rows - x0) / (x1 - x0);
  }
};

// Measured on a CPU with two cores, and on a GPU whose first two hundred rows wait for its memory.
const BentDevice kCpu{{{1, 0.050}, {8, 0.091}, {16, 0.140}, {32, 0.216}, {64, 0.385}, {512, 1.820}}};
const BentDevice kGpu{{{1, 0.0041}, {128, 0.0054}, {192, 0.0060}, {512, 0.0135}, {8192, 0.190}}};

TEST(StepCost, LearnsTheBend) {
  for (const BentDevice& device : {kCpu, kGpu}) {
    StepCost cost;
    std::mt19937 random(6);
    std::lognormal_distribution<double> noise(0, 0.02);
    for (int i = 0; i < 600; ++i) {
      const int decodes = 1 + int(random() % 64);
      const int prefill = random() % 2 == 0 ? 0 : 2 + int(random() % 400);
      const StepLoad load{.prefill_tokens = prefill, .decode_sequences = decodes};
      cost.observe(load, device.seconds(load.num_rows()) * noise(random));
    }
    for (const int rows : {1, 8, 16, 32, 64}) {
      const double real_s = device.seconds(rows);
      EXPECT_NEAR(cost.predict_s({.decode_sequences = rows}) / real_s, 1, 0.08) << rows << " decodes";
      const double more_s = device.seconds(rows + 300);
      EXPECT_NEAR(cost.predict_s({.prefill_tokens = 300, .decode_sequences = rows}) / more_s, 1, 0.08)
          << rows;
    }
  }
}

TEST(StepCost, RowsThatMemoryPaysForAreFree) {
  StepCost cost;
  for (int i = 0; i < 400; ++i) {
    const int rows = 1 + i * 37 % 1000;
    const StepLoad load{.prefill_tokens = rows, .prefill_kv_tokens = rows * (i % 7) * 100};
    cost.observe(load, kGpu.seconds(rows) + 1e-9 * double(load.prefill_kv_tokens));
  }
  const double one_s = cost.predict_s({.decode_sequences = 1});
  EXPECT_GT(cost.prefill_room({.decode_sequences = 1}, one_s * 1.3, 4096), 100);
  // The cost of many rows is learned from rows beyond the bend.
  const double rows_s = 10000 * (0.190 - 0.0135) / 7680;
  EXPECT_NEAR(cost.prefill_s(10000, 0), rows_s + 1e-9 * 10000 * 5000, 0.1 * rows_s);
}

TEST(StepCost, RowsThatWereNeverSeenCountAsTheMeanOfThose) {
  StepCost cost;
  for (const int rows : {1, 2, 8, 16, 16, 16}) cost.observe({.prefill_tokens = rows}, kCpu.seconds(rows));
  const double sixteen_s = cost.predict_s({.prefill_tokens = 16});
  EXPECT_NEAR(cost.predict_s({.prefill_tokens = 160}), 10 * sixteen_s, 0.1 * sixteen_s);
}

TEST(StepCost, SurvivesAbsurdTimes) {
  StepCost cost;
  for (const double seconds : {0.0, -1.0, 1e300, std::nan(""), double(INFINITY)})
    cost.observe({.prefill_tokens = 5, .decode_sequences = 1, .kv_tokens = 10}, seconds);
  EXPECT_TRUE(std::isfinite(cost.predict_s({.prefill_tokens = 5, .kv_tokens = 10})));
}

}  // namespace
}  // namespace kvasir::sched

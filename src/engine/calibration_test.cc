#include "engine/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/failing_runner.h"
#include "engine/toy_runner_test.h"

namespace kvasir::engine {
namespace {

constexpr CalibrationOptions kOptions{
    .num_blocks = 400, .max_batch_tokens = 512, .max_batch_sequences = 64, .budget_s = 1.5};

// A toy runner whose steps take time on a fake clock: the measured times of a CPU, plus a delay for each new
// shape.
struct SlowToy {
  base::FakeClock clock;
  ToyRunner runner{kOptions.num_blocks};
  std::vector<int> rows;

  explicit SlowToy(int us_per_row) {
    runner.before_step = [this, us_per_row](const sched::StepPlan& plan) {
      const int num_rows = plan.load.num_rows();
      const bool is_new = std::ranges::find(rows, num_rows) == rows.end();
      rows.push_back(num_rows);
      clock.advance(std::chrono::microseconds(9 * us_per_row + us_per_row * num_rows));
      if (is_new) clock.advance(std::chrono::milliseconds(20));
    };
  }
};

TEST(Calibration, LearnsTheDeviceAndNotItsFirstSteps) {
  SlowToy toy(100);
  const sched::StepCost cost = calibrate(kOptions, toy.runner, toy.clock).value();
  for (const int rows : {1, 8, 32, 64})
    EXPECT_NEAR(cost.predict_s({.decode_sequences = rows}), 0.0009 + 0.0001 * rows, 0.0005) << rows;
  EXPECT_EQ(std::ranges::max(toy.rows), 256);
}

TEST(Calibration, AFirstStepThatReadsTheDiskSaysNothing) {
  SlowToy toy(100);
  toy.runner.before_step = [&toy, inner = toy.runner.before_step](const sched::StepPlan& plan) {
    if (toy.rows.empty()) toy.clock.advance(std::chrono::seconds(2));
    inner(plan);
  };
  const sched::StepCost cost = calibrate(kOptions, toy.runner, toy.clock).value();
  EXPECT_NEAR(cost.predict_s({.decode_sequences = 64}), 0.0073, 0.0005);
  EXPECT_EQ(std::ranges::max(toy.rows), 256) << "the disk's time is not taken off the budget";
}

TEST(Calibration, TriesNothingThatWouldTakeLong) {
  SlowToy toy(5300);
  const base::TimePoint start = toy.clock.now();
  const sched::StepCost cost = calibrate(kOptions, toy.runner, toy.clock).value();
  EXPECT_LT(base::seconds(toy.clock.now() - start), 1.8);
  EXPECT_NEAR(cost.predict_s({.decode_sequences = 64}), 73 * 0.0053, 0.05);
  EXPECT_LE(std::ranges::max(toy.rows), 64);
}

TEST(Calibration, FitsASmallPool) {
  SlowToy toy(100);
  CalibrationOptions small = kOptions;
  small.num_blocks = 2;
  EXPECT_TRUE(calibrate(small, toy.runner, toy.clock).ok());
}

TEST(Calibration, TellsThatTheDeviceFailed) {
  base::FakeClock clock;
  FailingRunner failing(std::make_unique<ToyRunner>(kOptions.num_blocks), 2);
  EXPECT_FALSE(calibrate(kOptions, failing, clock).ok());
}

}  // namespace
}  // namespace kvasir::engine

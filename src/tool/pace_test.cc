#include "tool/pace.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kvasir::tool {
namespace {

using std::chrono::milliseconds;

TEST(Pace, TheFirstStepMayBeTakenAtOnceAndTheNextAfterTheInterval) {
  base::FakeClock clock;
  clock.advance(milliseconds(5));
  Pace pace(milliseconds(1000), clock);
  EXPECT_EQ(pace.wait(), milliseconds(0));
  pace.step();
  EXPECT_EQ(pace.wait(), milliseconds(1000));
  clock.advance(milliseconds(400));
  EXPECT_EQ(pace.wait(), milliseconds(600));
  clock.advance(milliseconds(600));
  EXPECT_EQ(pace.wait(), milliseconds(0));
}

TEST(Pace, StepsNeverCrowd) {
  base::FakeClock clock;
  Pace pace(milliseconds(1000), clock);
  int num_steps = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (pace.wait() == milliseconds(0)) {
      pace.step();
      ++num_steps;
    }
    clock.advance(milliseconds(1));
  }
  EXPECT_EQ(num_steps, 10);
}

}  // namespace
}  // namespace kvasir::tool

#include "sched/caution.h"

#include <gtest/gtest.h>

#include <random>

namespace kvasir::sched {
namespace {

TEST(Caution, OneInTwentyIsLater) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> ratio(0, 0.3);
  Caution caution;
  int num_late = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double real_s = ratio(random);
    if (i >= 1000 && real_s > caution.factor()) ++num_late;
    caution.learn(1, real_s);
  }
  EXPECT_NEAR(num_late / 9000.0, 0.05, 0.02);
}

TEST(Caution, FollowsAMachineThatBecomesSteadyAndStaysBounded) {
  Caution caution;
  for (int i = 0; i < 1000; ++i) caution.learn(1, 100);
  EXPECT_DOUBLE_EQ(caution.factor(), 4);
  for (int i = 0; i < 1000; ++i) caution.learn(1, 0.9);
  EXPECT_DOUBLE_EQ(caution.factor(), 1);
  caution.learn(0, 5);
  EXPECT_DOUBLE_EQ(caution.factor(), 1) << "nothing was forecast";
}

}  // namespace
}  // namespace kvasir::sched

#include "bench/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvasir::bench {
namespace {

std::vector<double> first(Arrivals arrivals, int count) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(arrivals.next().value());
  return times;
}

TEST(Arrivals, ArePoisson) {
  constexpr int kCount = 20000;
  constexpr double kRate = 4;
  const std::vector<double> times = first(Arrivals::poisson(kRate, 1), kCount);
  double sum = 0;
  double squares = 0;
  int num_short = 0;
  for (int i = 0; i < kCount; ++i) {
    const double gap = times[i] - (i > 0 ? times[i - 1] : 0);
    EXPECT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    num_short += gap < std::log(2) / kRate ? 1 : 0;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 1 / kRate, 0.01);
  // The deviation of an exponential distribution is its mean, and its median is ln 2 of the mean.
  EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), 1 / kRate, 0.01);
  EXPECT_NEAR(num_short, kCount / 2, 300);
}

TEST(Arrivals, DependOnTheSeedAlone) {
  EXPECT_EQ(first(Arrivals::poisson(2, 7), 50), first(Arrivals::poisson(2, 7), 50));
  EXPECT_NE(first(Arrivals::poisson(2, 7), 50), first(Arrivals::poisson(2, 8), 50));
}

TEST(Arrivals, OfATraceEndWithIt) {
  Arrivals arrivals = Arrivals::at({0, 1.5});
  EXPECT_EQ(arrivals.next(), 0);
  EXPECT_EQ(arrivals.next(), 1.5);
  EXPECT_EQ(arrivals.next(), std::nullopt);
}

TEST(Arrivals, BurstsComeTogetherAtTheSameRate) {
  Arrivals arrivals = Arrivals::poisson(10, 1, 8);
  double last_s = 0;
  for (int burst = 0; burst < 500; ++burst) {
    const double at_s = *arrivals.next();
    EXPECT_GT(at_s, last_s);
    for (int i = 1; i < 8; ++i) EXPECT_EQ(*arrivals.next(), at_s);
    last_s = at_s;
  }
  EXPECT_NEAR(500 * 8 / last_s, 10, 1.5);
}

}  // namespace
}  // namespace kvasir::bench

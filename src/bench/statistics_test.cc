#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kvasir::bench {
namespace {

TEST(Statistics, PercentilesLieBetweenTheClosestRanks) {
  const std::vector<double> values{10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(percentile(values, 0), 10);
  EXPECT_DOUBLE_EQ(percentile(values, 50), 25);
  EXPECT_DOUBLE_EQ(percentile(values, 90), 37);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 40);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{7}, 99), 7);
}

TEST(Statistics, DescribesWhateverTheOrder) {
  std::vector<double> values(101);
  std::iota(values.rbegin(), values.rend(), 0);
  const Distribution d = describe(values);
  EXPECT_EQ(d.count, 101u);
  EXPECT_DOUBLE_EQ(d.mean, 50);
  EXPECT_DOUBLE_EQ(d.min, 0);
  EXPECT_DOUBLE_EQ(d.p50, 50);
  EXPECT_DOUBLE_EQ(d.p95, 95);
  EXPECT_DOUBLE_EQ(d.p99, 99);
  EXPECT_DOUBLE_EQ(d.max, 100);
}

TEST(Statistics, NothingIsAllZero) {
  const Distribution d = describe({});
  EXPECT_EQ(d.count, 0u);
  EXPECT_EQ(d.p99, 0);
}

}  // namespace
}  // namespace kvasir::bench

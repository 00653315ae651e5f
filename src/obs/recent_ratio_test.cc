#include "obs/recent_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace kvasir::obs {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(RecentRatio, NothingIsNotANumber) {
  base::FakeClock clock;
  RecentRatio recent(clock);
  EXPECT_TRUE(std::isnan(recent.ratio(minutes(1))));
}

TEST(RecentRatio, ForgetsWhatIsOlderThanTheWindow) {
  base::FakeClock clock;
  RecentRatio recent(clock);
  recent.count_bad();
  clock.advance(seconds(30));
  recent.count_good();
  EXPECT_EQ(recent.ratio(minutes(1)), 0.5);
  clock.advance(seconds(29));  // at 59 s
  EXPECT_EQ(recent.ratio(minutes(1)), 0.5);
  clock.advance(seconds(1));
  EXPECT_EQ(recent.ratio(minutes(1)), 1);
  EXPECT_EQ(recent.ratio(minutes(5)), 0.5);
  clock.advance(seconds(30));
  EXPECT_TRUE(std::isnan(recent.ratio(minutes(1))));
  clock.advance(seconds(209));  // at 299 s
  EXPECT_EQ(recent.ratio(minutes(5)), 0.5);
  clock.advance(seconds(1));
  EXPECT_EQ(recent.ratio(minutes(5)), 1);
  clock.advance(seconds(30));
  EXPECT_TRUE(std::isnan(recent.ratio(minutes(5))));
}

TEST(RecentRatio, ABucketIsUsedAgainAfterFiveMinutes) {
  base::FakeClock clock;
  RecentRatio recent(clock);
  for (int i = 0; i < 100; ++i) {
    recent.count_bad();
    recent.count_good();
    recent.count_good();
    recent.count_good();
    EXPECT_EQ(recent.ratio(minutes(5)), 0.75);
    clock.advance(seconds(7));
  }
  clock.advance(minutes(60));
  recent.count_bad();
  EXPECT_EQ(recent.ratio(minutes(5)), 0);
}

TEST(RecentRatio, CountsOnSeveralThreads) {
  base::FakeClock clock;
  RecentRatio recent(clock);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&recent, i] {
      for (int k = 0; k < 1000; ++k) i == 0 ? recent.count_bad() : recent.count_good();
    });
  threads.clear();
  EXPECT_EQ(recent.ratio(minutes(1)), 0.75);
}

}  // namespace
}  // namespace kvasir::obs

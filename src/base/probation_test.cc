#include "base/probation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kvasir::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProbationTest : public testing::Test {
 protected:
  bool fail(int times) {
    bool is_put_out = false;
    for (int i = 0; i < times; ++i) is_put_out = probation_.note_failure(clock_.now()) || is_put_out;
    return is_put_out;
  }
  bool admits() const { return probation_.admits(clock_.now()); }
  void begin() { probation_.begin(clock_.now()); }
  void end_well() { probation_.note_good(clock_.now()); }

  FakeClock clock_;
  Probation probation_;
};

TEST_F(ProbationTest, SomeFailuresInARowPutItOut) {
  EXPECT_FALSE(fail(2));
  end_well();
  EXPECT_FALSE(fail(2));
  EXPECT_FALSE(probation_.is_out());
  EXPECT_TRUE(fail(1));
  EXPECT_TRUE(probation_.is_out());
  EXPECT_FALSE(admits());
}

TEST_F(ProbationTest, SoDoesAWindowWithAsManyFailuresAsGoodEnds) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(fail(1));
    end_well();
  }
  clock_.advance(seconds(11));
  EXPECT_FALSE(fail(1)) << "that was another window";
  end_well();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(fail(1));
    end_well();
  }
  EXPECT_TRUE(fail(1));
}

TEST_F(ProbationTest, OneRequestTriesAndBringsItBack) {
  fail(3);
  clock_.advance(milliseconds(999));
  begin();     // comes before the trial is due
  end_well();  // ends a request that began before
  EXPECT_FALSE(admits());
  clock_.advance(milliseconds(1));
  EXPECT_TRUE(admits());
  begin();
  EXPECT_FALSE(admits()) << "one at a time";
  end_well();
  EXPECT_TRUE(admits());
  EXPECT_FALSE(probation_.is_out());
}

TEST_F(ProbationTest, ATrialThatFailsDoublesThePause) {
  fail(3);
  int pause_s = 1;
  for (int i = 0; i < 9; ++i) {
    clock_.advance(seconds(pause_s) - milliseconds(1));
    EXPECT_FALSE(admits()) << i;
    clock_.advance(milliseconds(1));
    EXPECT_TRUE(admits()) << i;
    begin();
    EXPECT_TRUE(fail(1));
    pause_s = std::min(60, 2 * pause_s);
  }
  // A peer that has been back for long is as good as new.
  clock_.advance(seconds(60));
  begin();
  end_well();
  clock_.advance(seconds(121));
  EXPECT_TRUE(fail(3));
  clock_.advance(seconds(1));
  EXPECT_TRUE(admits());
}

TEST_F(ProbationTest, BackForAShortTimeItIsNotForgiven) {
  fail(3);
  clock_.advance(seconds(1));
  begin();
  end_well();
  EXPECT_TRUE(fail(3));
  clock_.advance(seconds(1));
  EXPECT_FALSE(admits());
  clock_.advance(seconds(1));
  EXPECT_TRUE(admits());
}

TEST_F(ProbationTest, ATrialThatNeverEndsOrSaysNothingIsFollowedByAnother) {
  fail(3);
  clock_.advance(seconds(1));
  begin();
  EXPECT_FALSE(admits());
  clock_.advance(seconds(10));
  EXPECT_TRUE(admits());
  begin();
  probation_.note_nothing();
  EXPECT_TRUE(admits());
}

TEST_F(ProbationTest, OneMayBeSparedAndAnotherIsPutOutAtOnce) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(probation_.note_failure(clock_.now(), true));
  EXPECT_TRUE(admits());
  probation_.put_out(clock_.now());
  EXPECT_FALSE(admits());
  probation_.put_out(clock_.now());  // it is out already, so nothing changes
  clock_.advance(seconds(1));
  EXPECT_TRUE(admits());
}

}  // namespace
}  // namespace kvasir::base

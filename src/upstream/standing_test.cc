#include "upstream/standing.h"

#include <gtest/gtest.h>

namespace kvasir::upstream {
namespace {

using std::chrono::seconds;

base::TimePoint at(int second) {
  return base::TimePoint(seconds(second));
}

TEST(Standing, takes_requests_once_a_check_went_well) {
  Standing standing;
  EXPECT_FALSE(standing.admits(at(0)));
  EXPECT_TRUE(standing.note_check(true));
  EXPECT_TRUE(standing.admits(at(0)));
  EXPECT_FALSE(standing.note_check(true)) << "nothing changed";
}

TEST(Standing, leaves_after_two_failed_checks_and_comes_back_after_one_good) {
  Standing standing;
  standing.note_check(true);
  EXPECT_FALSE(standing.note_check(false));
  EXPECT_TRUE(standing.admits(at(0)));
  EXPECT_TRUE(standing.note_check(false));
  EXPECT_FALSE(standing.admits(at(0)));
  standing.note_check(true);
  EXPECT_TRUE(standing.admits(at(0)));
}

TEST(Standing, is_ejected_after_failures_in_a_row_and_tried_once_after_the_pause) {
  Standing standing;
  standing.note_check(true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(standing.admits(at(10)));
    standing.begin(at(10));
    standing.note_failure(at(10));
  }
  EXPECT_TRUE(standing.is_ejected());
  EXPECT_FALSE(standing.admits(at(11)));
  EXPECT_TRUE(standing.admits(at(12)));
  standing.begin(at(12));
  EXPECT_FALSE(standing.admits(at(100))) << "one trial at a time, and it may be long";
  standing.note_good(at(100));
  EXPECT_TRUE(standing.admits(at(100)));
}

TEST(Standing, a_success_forgives_what_was_before) {
  Standing standing;
  standing.note_check(true);
  int second = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i) {  // half of them fail, never three in a row
      EXPECT_TRUE(standing.admits(at(second)));
      standing.begin(at(second));
      i % 2 == 0 ? standing.note_failure(at(second)) : standing.note_good(at(second));
    }
    for (int i = 0; i < 3; ++i) {
      standing.begin(at(second));
      standing.note_failure(at(second));
    }
    EXPECT_FALSE(standing.admits(at(second + 1)));
    second += 2;
    EXPECT_TRUE(standing.admits(at(second))) << "the pause of round " << round << " is a first one";
    standing.begin(at(second));
    standing.note_good(at(second));
    ++second;
  }
}

TEST(Standing, one_that_can_do_nothing_is_ejected_at_once) {
  Standing standing;
  standing.note_check(true);
  standing.begin(at(0));
  standing.note_useless(at(0));
  EXPECT_FALSE(standing.admits(at(1)));
  standing.begin(at(2));
  standing.note_nothing();
  EXPECT_TRUE(standing.admits(at(2))) << "a trial that said nothing is followed by another";
}

TEST(Standing, is_left_alone_as_long_as_it_asks) {
  Standing standing;
  standing.note_check(true);
  standing.begin(at(0));
  standing.note_busy(at(7));
  EXPECT_FALSE(standing.admits(at(6)));
  EXPECT_TRUE(standing.admits(at(7)));
}

}  // namespace
}  // namespace kvasir::upstream

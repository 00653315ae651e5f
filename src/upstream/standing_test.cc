#include "upstream/standing.h"

#include <gtest/gtest.h>

namespace kvasir::upstream {
namespace {

using std::chrono::seconds;

base::TimePoint at(int second) {
  return base::TimePoint(seconds(second));
}

void fail(Standing& standing, int second, int times) {
  for (int i = 0; i < times; ++i) {
    standing.begin();
    standing.note_failure(at(second));
  }
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
  fail(standing, 10, 2);
  standing.begin();
  standing.note_good();
  fail(standing, 10, 2);
  EXPECT_TRUE(standing.admits(at(10))) << "a success in between begins anew";
  fail(standing, 10, 1);
  EXPECT_FALSE(standing.admits(at(11)));
  EXPECT_TRUE(standing.admits(at(12)));
  standing.begin();
  EXPECT_FALSE(standing.admits(at(12))) << "one trial at a time";
  standing.note_good();
  EXPECT_TRUE(standing.admits(at(12)));
}

TEST(Standing, pauses_grow_while_trials_fail) {
  Standing standing;
  standing.note_check(true);
  fail(standing, 0, 3);
  fail(standing, 2, 1);
  EXPECT_FALSE(standing.admits(at(5)));
  EXPECT_TRUE(standing.admits(at(6)));
  fail(standing, 6, 1);
  EXPECT_FALSE(standing.admits(at(13)));
  EXPECT_TRUE(standing.admits(at(14)));
}

TEST(Standing, a_trial_that_said_nothing_is_followed_by_another) {
  Standing standing;
  standing.note_check(true);
  standing.begin();
  standing.note_useless(at(0));
  EXPECT_FALSE(standing.admits(at(1)));
  standing.begin();
  standing.note_nothing();
  EXPECT_TRUE(standing.admits(at(2)));
}

TEST(Standing, late_failures_of_requests_from_before_do_not_lengthen_the_pause) {
  Standing standing;
  standing.note_check(true);
  fail(standing, 0, 3);
  standing.note_failure(at(1));
  EXPECT_TRUE(standing.admits(at(2)));
}

TEST(Standing, is_left_alone_as_long_as_it_asks) {
  Standing standing;
  standing.note_check(true);
  standing.begin();
  standing.note_busy(at(7));
  EXPECT_FALSE(standing.admits(at(6)));
  EXPECT_TRUE(standing.admits(at(7)));
}

}  // namespace
}  // namespace kvasir::upstream

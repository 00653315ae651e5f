#include "app/restart.h"

#include <gtest/gtest.h>

namespace kvasir::app {
namespace {

TEST(RestartHistory, CountsWhatIsInTheWindow) {
  RestartHistory history;
  EXPECT_EQ(history.num_in_window(5000), 0);
  for (const int at : {1000, 1590, 1600}) history.add(at);
  EXPECT_EQ(history.num_in_window(1600), 2);
  EXPECT_EQ(history.num_in_window(1599 + RestartHistory::kWindowS), 1);
  EXPECT_EQ(history.num_restarts(), 3);
}

TEST(RestartHistory, IsHandedOnAsText) {
  RestartHistory history = RestartHistory::parse("");
  for (int i = 0; i < 200; ++i) history.add(10 * i);
  const RestartHistory read = RestartHistory::parse(history.text());
  EXPECT_EQ(read.text(), history.text());
  EXPECT_EQ(read.num_restarts(), 200);
  EXPECT_EQ(read.num_in_window(1990), 60);
  EXPECT_LT(history.text().size(), 1000u);
}

TEST(RestartHistory, NonsenseIsNoHistory) {
  for (const char* text : {"x", "3 -4", "3 4x5y", "99999999999999999999", " ", "1  2"})
    EXPECT_EQ(RestartHistory::parse(text).num_restarts(), 0) << text;
  EXPECT_EQ(RestartHistory::parse("2 30 40 ").num_in_window(50), 2);
}

}  // namespace
}  // namespace kvasir::app

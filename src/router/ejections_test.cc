#include "router/ejections.h"

#include <gtest/gtest.h>

#include "router/retry_budget.h"

namespace kvasir::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = Ejections::Outcome;

class EjectionsTest : public testing::Test {
 protected:
  bool lose(const std::string& member, int times = 1, std::size_t num_members = 4) {
    bool is_put_out = false;
    for (int i = 0; i < times; ++i)
      is_put_out = ejections_.note(member, Outcome::lost, num_members, clock_.now()) || is_put_out;
    return is_put_out;
  }
  void end_well(const std::string& member) {
    EXPECT_FALSE(ejections_.note(member, Outcome::ended_well, 4, clock_.now()));
  }
  std::vector<std::string> out() const {
    std::vector<std::string> members;
    ejections_.append_out(members, clock_.now());
    return members;
  }

  base::FakeClock clock_;
  Ejections ejections_;
};

TEST_F(EjectionsTest, ThreeLossesInARowPutAMemberOut) {
  EXPECT_FALSE(lose("a", 2));
  end_well("a");
  EXPECT_FALSE(lose("a", 2));
  EXPECT_FALSE(ejections_.any());
  EXPECT_TRUE(lose("a"));
  EXPECT_TRUE(ejections_.any());
  EXPECT_EQ(out(), std::vector<std::string>{"a"});
  EXPECT_EQ(ejections_.counts().at("a"), 1u);
}

TEST_F(EjectionsTest, OneRequestTriesAndBringsItBack) {
  lose("a", 3);
  clock_.advance(milliseconds(999));
  ejections_.begin("a", clock_.now());  // too early to be the trial
  end_well("a");                        // a request that began before the member was taken out
  EXPECT_EQ(out().size(), 1u);
  clock_.advance(milliseconds(1));
  EXPECT_TRUE(out().empty());
  ejections_.begin("a", clock_.now());
  EXPECT_EQ(out().size(), 1u) << "one at a time";
  end_well("a");
  EXPECT_TRUE(out().empty());
  EXPECT_FALSE(ejections_.any());
}

TEST_F(EjectionsTest, AtMostHalfOfAPoolIsOut) {
  EXPECT_FALSE(lose("a", 10, 1)) << "the only one stays";
  EXPECT_TRUE(lose("b", 3, 3));
  EXPECT_FALSE(lose("c", 10, 3));
  EXPECT_EQ(out(), std::vector<std::string>{"b"});
  ejections_.forget("b");
  EXPECT_FALSE(ejections_.any());
  EXPECT_TRUE(lose("c", 1, 3));
}

TEST(RetryBudget, HoldsOneForEachRunningRequestAndSome) {
  base::FakeClock clock;
  RetryBudget budget;
  const auto take_all = [&](int num_running) {
    int num = 0;
    while (num < 10'000 && budget.take(num_running, clock.now())) ++num;
    return num;
  };
  EXPECT_EQ(take_all(100), 132);
  clock.advance(seconds(5));
  EXPECT_EQ(take_all(100), 33);
  clock.advance(seconds(1000));
  EXPECT_EQ(take_all(10), 42);
  budget.give_back();
  EXPECT_EQ(take_all(10), 1);
}

// Workers die as fast as they come: the number of retries stays bounded.
TEST(RetryBudget, AStormIsBounded) {
  base::FakeClock clock;
  RetryBudget budget;
  int num_retries = 0;
  for (int i = 0; i < 6000; ++i) {  // a minute of lost requests, 100 a second, of which 20 run at any time
    num_retries += budget.take(20, clock.now()) ? 1 : 0;
    clock.advance(milliseconds(10));
  }
  EXPECT_LT(num_retries, 52 + 60 * 52 / 20 + 2);
  EXPECT_GT(num_retries, 52 * 3);
}

}  // namespace
}  // namespace kvasir::router

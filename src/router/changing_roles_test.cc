#include "router/changing_roles.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace kvasir::router {
namespace {

class ChangingRolesTest : public testing::Test {
 protected:
  // Every member computes for so many seconds, `share` of them for long prompts.
  void compute(double seconds, double share) {
    for (double done = 0; done < seconds; done += 1) {
      clock.advance(std::chrono::seconds(1));
      work.busy_s += 1;
      work.long_prompts_s += share;
      for (const char* member : {"a", "b", "c", "d"}) roles.heed(member, work, clock.now());
      roles.settle(crew, clock.now());
    }
  }

  base::FakeClock clock;
  ChangingRoles roles{30};
  ChangingRoles::Work work;
  ChangingRoles::Crew crew{.num_changing = 4};
};

TEST_F(ChangingRolesTest, FollowTheShareOfLongPrompts) {
  EXPECT_EQ(roles.num_prefill(), 0);
  compute(120, 0.1);
  EXPECT_EQ(roles.num_prefill(), 0) << "0.4 of four members";
  compute(120, 0.3);
  EXPECT_EQ(roles.num_prefill(), 1);
  compute(240, 0.55);
  EXPECT_EQ(roles.num_prefill(), 2) << "2.2 of four members";
  compute(240, 0.4);
  EXPECT_EQ(roles.num_prefill(), 2) << "1.6 is not clearly another number";
  compute(240, 0.02);
  EXPECT_EQ(roles.num_prefill(), 0);
}

TEST_F(ChangingRolesTest, OneStepAtATime) {
  int before = 0;
  double changed_s = -100;
  for (int i = 0; i < 100; ++i) {
    compute(1, 0.9);
    if (roles.num_prefill() == before) continue;
    EXPECT_EQ(roles.num_prefill(), before + 1);
    EXPECT_GE(i - changed_s, 10);
    before = roles.num_prefill();
    changed_s = i;
  }
  EXPECT_EQ(before, 3) << "one must answer";
}

TEST_F(ChangingRolesTest, MembersWithAFixedRoleCount) {
  crew = {.num_changing = 2, .num_prefill = 1, .num_others = 1};
  compute(200, 0.3);
  EXPECT_EQ(roles.num_prefill(), 0) << "the fixed one is enough";
  compute(200, 0.95);
  EXPECT_EQ(roles.num_prefill(), 2) << "the fixed other one answers";
  crew = {.num_changing = 2};
  compute(1, 0.95);
  EXPECT_EQ(roles.num_prefill(), 1) << "it has left";
}

TEST_F(ChangingRolesTest, AnIdlePoolStaysAsItIs) {
  compute(200, 0.5);
  EXPECT_EQ(roles.num_prefill(), 2);
  clock.advance(std::chrono::hours(1));
  work.busy_s += 0.2;  // 0.8 s of all four, without any prompt
  for (const char* member : {"a", "b", "c", "d"}) roles.heed(member, work, clock.now());
  roles.settle(crew, clock.now());
  EXPECT_EQ(roles.num_prefill(), 2);
}

TEST_F(ChangingRolesTest, OldWorkThatIsLearntLateCountsAsAWindow) {
  compute(1, 0);
  clock.advance(std::chrono::hours(1));
  work.busy_s += 3600;
  work.long_prompts_s += 3600;
  compute(1, 1);
  compute(120, 0.02);
  EXPECT_EQ(roles.num_prefill(), 0) << "the hour is forgotten as half a minute would be";
}

TEST_F(ChangingRolesTest, AMemberThatStartsAgainBeginsAtZero) {
  compute(200, 0.5);
  work = {.busy_s = 1, .long_prompts_s = 1};
  compute(100, 0.5);
  EXPECT_EQ(roles.num_prefill(), 2);
}

}  // namespace
}  // namespace kvasir::router

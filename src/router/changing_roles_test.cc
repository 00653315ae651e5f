#include "router/changing_roles.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "wire/worker_card.h"

namespace kvasir::router {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ChangingRolesTest : public testing::Test {
 protected:
  // Members with these roles, in the place of those before.
  void be(const std::vector<const char*>& roles_in) {
    members.clear();
    for (std::size_t i = 0; i < roles_in.size(); ++i) members.push_back({kIds[i], roles_in[i], work});
  }
  void observe() {
    for (ChangingRoles::Seen& member : members) member.work = work;
    roles.observe(members, clock.now());
  }
  // Every member computes for so many seconds, `share` of them for long prompts.
  void compute(int seconds, double share) {
    for (int i = 0; i < seconds; ++i) {
      clock.advance(std::chrono::seconds(1));
      work.busy_s += 1;
      work.long_prompts_s += share;
      observe();
    }
  }

  static constexpr const char* kIds[] = {"a", "b", "c", "d"};
  base::FakeClock clock;
  ChangingRoles roles{30};
  ChangingRoles::Work work;
  std::vector<ChangingRoles::Seen> members = {{"a", wire::kAutoRole, {}},
                                              {"b", wire::kAutoRole, {}},
                                              {"c", wire::kAutoRole, {}},
                                              {"d", wire::kAutoRole, {}}};
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
  int changed_s = -100;
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
  be({wire::kAutoRole, wire::kAutoRole, wire::kPrefillRole, wire::kAnyRole});
  compute(200, 0.3);
  EXPECT_EQ(roles.num_prefill(), 0) << "the fixed one is enough";
  compute(200, 0.95);
  EXPECT_EQ(roles.num_prefill(), 2) << "the fixed other one answers";
  be({wire::kAutoRole, wire::kAutoRole});
  compute(1, 0.95);
  EXPECT_EQ(roles.num_prefill(), 1) << "it has left";
}

TEST_F(ChangingRolesTest, AnIdlePoolStaysAsItIs) {
  compute(200, 0.5);
  EXPECT_EQ(roles.num_prefill(), 2);
  clock.advance(std::chrono::hours(1));
  work.busy_s += 0.2;  // 0.8 s of all four, without any prompt
  observe();
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

TEST_F(ChangingRolesTest, ReportsThatCannotBeTrueDoNoLastingHarm) {
  compute(200, 0.5);
  for (const ChangingRoles::Work& lie :
       {ChangingRoles::Work{kNan, 0}, {kInf, kInf}, {1e300, kNan}, {-kInf, 1e300}}) {
    const ChangingRoles::Work truth = std::exchange(work, lie);
    compute(1, 0);
    work = truth;
    compute(1, 0.5);
  }
  EXPECT_EQ(roles.num_prefill(), 2);
  compute(240, 0.02);
  EXPECT_EQ(roles.num_prefill(), 0);
}

TEST_F(ChangingRolesTest, TheMembersAreObservedNowAndThen) {
  observe();
  EXPECT_FALSE(roles.is_due(clock.now()));
  clock.advance(std::chrono::milliseconds(999));
  EXPECT_FALSE(roles.is_due(clock.now()));
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(roles.is_due(clock.now()));
}

}  // namespace
}  // namespace kvasir::router

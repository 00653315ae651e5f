#include "tenancy/admission.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

namespace kvasir::tenancy {
namespace {

TEST(Admission, CountsWhatIsInsideAndGivesItBack) {
  Admission admission({.max_sequences = 4, .max_sequences_per_tenant = 4});
  {
    auto permit = admission.enter(anonymous(), {.sequences = 3, .tokens = 100});
    ASSERT_TRUE(permit.ok());
    EXPECT_EQ(admission.inside().sequences, 3);
    EXPECT_EQ(admission.inside().tokens, 100);
    Permit moved = std::move(*permit);
    EXPECT_EQ(admission.inside().sequences, 3);
  }
  EXPECT_EQ(admission.inside().sequences, 0);
  EXPECT_EQ(admission.inside().tokens, 0);
}

TEST(Admission, RefusesOverTheServersLimit) {
  Admission admission({.max_sequences = 2, .max_sequences_per_tenant = 2});
  auto first = admission.enter(anonymous(), {.sequences = 2});
  ASSERT_TRUE(first.ok());
  auto second = admission.enter(caller_of_tenant("other"), {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::ErrorCode::exhausted);
  EXPECT_EQ(second.error().reason, "rate_limit_exceeded");
  EXPECT_GT(second.error().retry_after_s, 0);
}

TEST(Admission, ModelsThatComeBringPlacesAndTakeThemAway) {
  int num_models = 1;
  Admission admission({.max_sequences = 2, .max_sequences_per_tenant = 2}, nullptr,
                      [&] { return num_models; });
  auto first = admission.enter(anonymous(), {.sequences = 2});
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(admission.enter(anonymous(), {}).ok());
  num_models = 2;
  auto second = admission.enter(anonymous(), {.sequences = 2});
  ASSERT_TRUE(second.ok());
  num_models = 1;
  EXPECT_FALSE(admission.enter(anonymous(), {}).ok());
  num_models = 0;  // all models of the start have been unloaded
  first = base::error(base::ErrorCode::cancelled, "ended");
  second = base::error(base::ErrorCode::cancelled, "ended");
  EXPECT_TRUE(admission.enter(anonymous(), {.sequences = 2}).ok());
}

TEST(Admission, RefusesOverTheTenantsLimitAndLetsOthersIn) {
  Admission admission({.max_sequences = 10, .max_sequences_per_tenant = 2});
  auto first = admission.enter(anonymous(), {.sequences = 2});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(admission.enter(anonymous(), {}).error().reason, "rate_limit_exceeded");
  EXPECT_TRUE(admission.enter(caller_of_tenant("other"), {}).ok());
}

TEST(Admission, AssigningOverAPermitGivesTheOldOneBack) {
  Admission admission({.max_sequences = 10, .max_sequences_per_tenant = 10});
  std::optional<Permit> held;
  held.emplace(admission.enter(anonymous(), {.sequences = 2}).value());
  {
    Permit next = admission.enter(anonymous(), {.sequences = 3}).value();
    *held = std::move(next);
  }
  EXPECT_EQ(admission.inside().sequences, 3);
  held.reset();
  EXPECT_EQ(admission.inside().sequences, 0);
}

TEST(Admission, PermitOutlivesItsAdmission) {
  std::optional<Permit> held;
  {
    Admission admission({.max_sequences = 1, .max_sequences_per_tenant = 1});
    held.emplace(admission.enter(anonymous(), {}).value());
  }
  held.reset();
}

TEST(Admission, ManyThreadsNeverPassTheLimit) {
  Admission admission({.max_sequences = 3, .max_sequences_per_tenant = 3});
  std::vector<std::thread> threads;
  std::atomic<int> over = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        auto permit = admission.enter(anonymous(), {});
        if (permit.ok() && admission.inside().sequences > 3) ++over;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(over, 0);
  EXPECT_EQ(admission.inside().sequences, 0);
}

TEST(Admission, LowerClassesLeavePlacesToTheHighest) {
  Admission admission({.max_sequences = 16, .max_sequences_per_tenant = 16, .top_priority = 2});
  const auto caller = [](const char* name, int priority) {
    Caller who = caller_of_tenant(name);
    who.key = name;
    who.tier = std::make_shared<const Tier>(Tier{.name = name, .priority = priority});
    return who;
  };
  const auto free = admission.enter(caller("free", 0), {.sequences = 14});
  ASSERT_TRUE(free.ok());
  EXPECT_FALSE(admission.enter(caller("free", 0), {.sequences = 1}).ok());
  EXPECT_TRUE(admission.enter(caller("enterprise", 2), {.sequences = 2}).ok());
  EXPECT_TRUE(admission.enter(anonymous(), {.sequences = 2}).ok()) << "without keys there are no classes";
}

}  // namespace
}  // namespace kvasir::tenancy

#include "router/prefill_trials.h"

#include <gtest/gtest.h>

namespace kvasir::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kHelper = "10.0.0.5:7070";

class PrefillTrialsTest : public testing::Test {
 protected:
  PrefillTrialsTest() {
    trials_.join(kHelper);
    tell();
  }
  void tell(const std::string& member = "d") {
    trials_.heed(member, std::make_shared<const std::vector<wire::KvLink>>(std::vector{link_}), clock_.now());
  }
  void come(std::uint64_t count = 1) {
    link_.num_good += count;
    link_.ended_well = true;
    tell();
  }
  void fail(std::uint64_t count = 1) {
    link_.num_failed += count;
    link_.ended_well = false;
    tell();
  }
  bool admits() const { return trials_.admits(kHelper, clock_.now()); }

  base::FakeClock clock_;
  PrefillTrials trials_;
  wire::KvLink link_{.address = kHelper};
};

TEST_F(PrefillTrialsTest, ThreeFailuresInARowAreAPause) {
  fail(2);
  come();
  fail(2);
  EXPECT_TRUE(admits());
  fail();
  EXPECT_FALSE(admits());
  EXPECT_EQ(trials_.count(kHelper), 1u);
  EXPECT_TRUE(trials_.admits("10.0.0.6:7070", clock_.now())) << "another one";
}

TEST_F(PrefillTrialsTest, OnePromptTriesAndPausesGrow) {
  fail(3);
  for (const auto pause : {seconds(1), seconds(2), seconds(4)}) {
    clock_.advance(pause - milliseconds(1));
    EXPECT_FALSE(admits()) << pause.count();
    clock_.advance(milliseconds(1));
    ASSERT_TRUE(admits()) << pause.count();
    trials_.begin(kHelper, clock_.now());
    EXPECT_FALSE(admits()) << "one at a time";
    clock_.advance(seconds(20));
    EXPECT_FALSE(admits()) << "it takes as long as a prompt waits for its blocks";
    fail();
  }
  EXPECT_EQ(trials_.count(kHelper), 4u);
  clock_.advance(seconds(8));
  trials_.begin(kHelper, clock_.now());
  come();
  EXPECT_TRUE(admits());
  fail(2);
  EXPECT_TRUE(admits()) << "it is as good as others again";
}

// Two decode members report failures. The first report of one of them has a history.
TEST_F(PrefillTrialsTest, FailuresOfAllMembersCountAndHistoryDoesNot) {
  link_.num_failed = 50;
  link_.ended_well = false;
  tell("e");
  EXPECT_TRUE(admits()) << "long ago";
  link_.num_failed += 2;
  tell("e");
  EXPECT_TRUE(admits());
  link_ = {.address = kHelper};
  fail();
  EXPECT_FALSE(admits());
}

TEST_F(PrefillTrialsTest, AMessageIsHeededOnce) {
  const auto links = std::make_shared<const std::vector<wire::KvLink>>(
      std::vector{wire::KvLink{.address = kHelper, .num_failed = 1, .ended_well = false}});
  for (int i = 0; i < 5; ++i) trials_.heed("d", links, clock_.now());
  EXPECT_TRUE(admits());
  trials_.heed("d", nullptr, clock_.now());
  EXPECT_TRUE(admits());
}

TEST_F(PrefillTrialsTest, WhoeverComesBackIsAnotherOne) {
  fail(3);
  EXPECT_FALSE(admits());
  trials_.forget("p", kHelper);
  EXPECT_TRUE(admits());
  tell();
  fail(5);
  EXPECT_TRUE(admits()) << "those who still waited for it tell of it, and nobody is there";
  EXPECT_EQ(trials_.count(kHelper), 1u);
  trials_.join(kHelper);
  fail(3);
  EXPECT_FALSE(admits());
}

}  // namespace
}  // namespace kvasir::router

#include "tenancy/local_counters.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "obs/log.h"
#include "store/temp_folder.h"
#include "tenancy/admission.h"
#include "tenancy/journal_line.h"

namespace kvasir::tenancy {
namespace {

Caller caller(const std::string& tenant, const Tier& tier) {
  Caller caller = caller_of_tenant(tenant);
  caller.tier = std::make_shared<const Tier>(tier);
  return caller;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class LocalCountersTest : public testing::Test {
 protected:
  std::shared_ptr<LocalCounters> open() {
    return LocalCounters::open(folder_.path(), clock_, Journal::Durability::disk).value();
  }
  std::filesystem::path journal() const { return folder_.path() / "limits.journal"; }
  std::int64_t left(Counters& counters, const Caller& of) { return counters.standings(of).tokens.left; }

  const Caller limited_ = caller("acme", {.requests_per_minute = 100, .tokens_per_minute = 1000});
  base::FakeWallClock clock_{1'800'000'000'000'000};
  store::TempFolder folder_;
};

TEST_F(LocalCountersTest, SurviveARestart) {
  auto counters = open();
  auto held = counters->reserve(limited_, {.tokens = 600}).value();
  held->settle(200);
  held.reset();
  counters.reset();
  counters = open();
  EXPECT_EQ(left(*counters, limited_), 800);
  EXPECT_EQ(counters->standings(limited_).requests.left, 99);
  clock_.advance(std::chrono::seconds(12));
  EXPECT_EQ(left(*counters, limited_), 1000);
}

TEST_F(LocalCountersTest, WhatACrashLeftUnsettledCountsInFull) {
  const Caller budget = caller("acme", {.tokens_per_minute = 1000, .tokens_per_day = 5000});
  std::string text;
  {
    const auto counters = open();
    const auto held = counters->reserve(budget, {.tokens = 600}).value();
    text = bytes_of(journal());
  }
  std::ofstream(journal(), std::ios::binary) << text;
  const auto counters = open();
  EXPECT_EQ(left(*counters, budget), 400);
  EXPECT_EQ(counters->reserve(budget, {.tokens = 4900}).error().retry_after_s, -1);
  clock_.advance(std::chrono::minutes(1));
  EXPECT_EQ(left(*counters, budget), 1000);
}

TEST_F(LocalCountersTest, ATornLastLineIsDroppedAndADamagedOneLeftOut) {
  std::string text;
  write_journal_line("a b%\n", {.tokens_full_at_us = 7, .day = {3, 4}}, text);
  const std::size_t first = text.size();
  write_journal_line("b", {.tokens_full_at_us = 9}, text);
  const JournalText whole = read_journal(text);
  ASSERT_EQ(whole.lines.size(), 2u);
  EXPECT_EQ(whole.lines[0].tenant, "a b%\n");
  EXPECT_EQ(whole.lines[0].state.day.tokens, 4);
  for (std::size_t cut = first; cut < text.size(); ++cut) {
    const JournalText torn = read_journal(std::string_view(text).substr(0, cut));
    EXPECT_EQ(torn.lines.size(), 1u) << cut;
    EXPECT_EQ(torn.num_broken, 0) << cut;
  }
  for (std::size_t at = 0; at + 1 < first; ++at) {
    std::string damaged = text;
    damaged[at] = damaged[at] == 'x' ? 'y' : 'x';
    EXPECT_EQ(read_journal(damaged).lines.size(), 1u) << at;
    EXPECT_EQ(read_journal(damaged).num_broken, 1) << at;
  }
}

TEST_F(LocalCountersTest, ASecondOneIsNoticedAndTakesOverOnceItIsAlone) {
  std::vector<std::string> log;
  obs::Log::redirect([&](std::string_view line) { log.emplace_back(line); });
  auto first = open();
  auto second = open();
  EXPECT_TRUE(first->journaling());
  EXPECT_FALSE(second->journaling());
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("another process"), std::string::npos) << log[0];
  first->reserve(limited_, {.tokens = 100}).value()->settle(100);
  second->reserve(limited_, {.tokens = 200}).value()->settle(200);
  EXPECT_EQ(left(*second, limited_), 800);
  first.reset();
  clock_.advance(std::chrono::seconds(3));  // 50 tokens
  second->reserve(limited_, {.tokens = 10}).value()->settle(10);
  EXPECT_TRUE(second->journaling());
  EXPECT_EQ(left(*second, limited_), 1000 - 200 + 50 - 10 - 50);
  obs::Log::redirect({});
}

// The limit of a file's size acts like a full disk: it lets part of a line through and nothing after it.
class FullDisk {
 public:
  explicit FullDisk(std::size_t num_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = num_bytes;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST_F(LocalCountersTest, AFullDiskIsToldOnceAndMendsItself) {
  std::vector<std::string> log;
  obs::Log::redirect([&](std::string_view line) { log.emplace_back(line); });
  auto counters = open();
  counters->reserve(limited_, {.tokens = 100}).value()->settle(100);
  {
    // The limit leaves too little room for the rewrite of the journal.
    const FullDisk full(bytes_of(journal()).size() + 10);
    counters->reserve(limited_, {.tokens = 100}).value()->settle(100);
    EXPECT_TRUE(counters->journaling());
    EXPECT_TRUE(log.empty());
  }
  {
    const FullDisk full(10);
    for (int i = 0; i < 5; ++i) {
      counters->reserve(limited_, {.tokens = 100}).value()->settle(100);
      clock_.advance(std::chrono::milliseconds(600));
    }
    EXPECT_FALSE(counters->journaling());
  }
  ASSERT_EQ(log.size(), 1u);
  EXPECT_NE(log[0].find("limits_not_journaled"), std::string::npos) << log[0];
  clock_.advance(std::chrono::seconds(1));
  counters->reserve(limited_, {.tokens = 100}).value()->settle(100);
  EXPECT_TRUE(counters->journaling());
  EXPECT_EQ(log.size(), 2u);
  obs::Log::redirect({});
  const std::int64_t before = left(*counters, limited_);
  EXPECT_LT(before, 300);
  counters.reset();
  EXPECT_EQ(left(*open(), limited_), before);
}

TEST_F(LocalCountersTest, TheJournalIsRewrittenWhenItHasGrown) {
  const auto counters = open();
  std::size_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    counters->reserve(limited_, {.tokens = 10}).value()->settle(1);
    most = std::max<std::size_t>(most, std::filesystem::file_size(journal()));
    clock_.advance(std::chrono::milliseconds(700));
  }
  EXPECT_LT(most, (1u << 20) + 1000);
  EXPECT_GT(most, (1u << 20) - 1000);
}

TEST_F(LocalCountersTest, TenantsWithNothingToRememberAreForgotten) {
  const auto counters = open();
  for (int i = 0; i < 100'000; ++i) {
    const Caller one = caller("tenant " + std::to_string(i), {.tokens_per_minute = 1000});
    counters->reserve(one, {.tokens = 10}).value()->settle(10);
    clock_.advance(std::chrono::milliseconds(100));
  }
  EXPECT_LT(counters->num_accounts(), 2500u);
}

TEST_F(LocalCountersTest, WhoHasNoLimitsIsNotCounted) {
  const auto counters = open();
  EXPECT_EQ(counters->reserve(anonymous(), {.tokens = 1'000'000'000}).value(), nullptr);
  EXPECT_EQ(counters->num_accounts(), 0u);
  EXPECT_EQ(counters->standings(anonymous()).tokens.limit, 0);
}

TEST_F(LocalCountersTest, APermitSettlesOnceOrGivesEverythingBack) {
  const auto counters = LocalCounters::in_memory(clock_);
  std::optional<Admission> admission;
  admission.emplace(AdmissionLimits{.max_sequences = 4, .max_sequences_per_tenant = 4}, counters);
  {
    Permit permit = admission->enter(limited_, {.tokens = 600}).value();
    EXPECT_EQ(left(*counters, limited_), 400);
    EXPECT_EQ(admission->enter(limited_, {.tokens = 401}).error().reason, "rate_limit_exceeded");
    EXPECT_EQ(admission->inside().sequences, 1);
    permit.settle(100);
    permit.settle(500);
    EXPECT_EQ(left(*counters, limited_), 900);
  }
  EXPECT_EQ(left(*counters, limited_), 900);
  {
    const Permit unused = admission->enter(limited_, {.tokens = 600}).value();
  }
  EXPECT_EQ(left(*counters, limited_), 900);
  EXPECT_EQ(counters->standings(limited_).requests.left, 99);
  std::optional<Permit> held = admission->enter(limited_, {.tokens = 2000, .least_tokens = 10}).value();
  EXPECT_EQ(held->tokens(), 450);
  EXPECT_EQ(admission->inside().tokens, 450);
  admission.reset();
  held.reset();
  EXPECT_EQ(left(*counters, limited_), 900);
}

TEST_F(LocalCountersTest, ManyThreadsNeverPassTheLimit) {
  const auto counters = open();
  std::atomic<std::int64_t> granted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto held = counters->reserve(limited_, {.tokens = 40, .requests = 0});
        if (!held.ok()) continue;
        (*held)->settle(3);
        granted += 3;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(granted, 1000);
  EXPECT_GE(granted, 960 - 4 * 40);
  EXPECT_EQ(left(*counters, limited_), 1000 - granted);
}

double thread_us() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// The least processor time for entering and settling, of five attempts.
double enter_and_settle_us(Admission& admission) {
  std::vector<Caller> callers;
  for (int i = 0; i < 1000; ++i)
    callers.push_back(caller("tenant-" + std::to_string(i), {.requests_per_minute = 1'000'000,
                                                             .tokens_per_minute = 1'000'000'000,
                                                             .max_concurrent = 100,
                                                             .tokens_per_day = 1'000'000'000'000}));
  constexpr int kRounds = 40'000;
  double best_us = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double started = thread_us();
    for (int i = 0; i < kRounds; ++i)
      admission.enter(callers[static_cast<std::size_t>(i * 7919LL % 1000)], {.tokens = 1000})->settle(100);
    best_us = std::min(best_us, (thread_us() - started) / kRounds);
  }
  return best_us;
}

// The bound is loose, because machines that run tests are busy and sanitizers are slow. The figures are
// printed.
TEST_F(LocalCountersTest, EnterAndSettleAreQuick) {
  const base::RealWallClock clock;
  constexpr AdmissionLimits kPlaces{.max_sequences = 64, .max_sequences_per_tenant = 64};
  Admission in_memory(kPlaces, LocalCounters::in_memory(clock));
  Admission journaled(kPlaces, LocalCounters::open(folder_.path(), clock, Journal::Durability::disk).value());
  const double memory_us = enter_and_settle_us(in_memory);
  const double journal_us = enter_and_settle_us(journaled);
  std::printf("enter and settle, 1,000 tenants: %.2f us in memory, %.2f us with the journal\n", memory_us,
              journal_us);
  EXPECT_LT(journal_us, 100);
}

}  // namespace
}  // namespace kvasir::tenancy

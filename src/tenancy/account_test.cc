#include "tenancy/account.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::tenancy {
namespace {

// 2026-11-30, 23:59:00.
constexpr std::int64_t kLastMinuteUs = 1'796'083'140'000'000;
constexpr std::int64_t kSecondUs = 1'000'000;

Moment after(std::int64_t us) {
  return moment_at(kLastMinuteUs + us);
}

Tier tokens_per_minute(std::int64_t tokens) {
  return {.tokens_per_minute = tokens};
}

bool says(const base::Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

TEST(Calendar, KnowsDaysAndMonthsOfUtc) {
  const Moment now = after(0);
  EXPECT_EQ(now.month, (2026 - 1970) * 12 + 10);
  EXPECT_EQ(us_to_next_day(now), 60 * kSecondUs);
  EXPECT_EQ(us_to_next_month(now), 60 * kSecondUs);
  EXPECT_EQ(after(60 * kSecondUs).day, now.day + 1);
  EXPECT_EQ(after(60 * kSecondUs).month, now.month + 1);
  EXPECT_EQ(us_to_next_month(after(60 * kSecondUs)), 31 * kDayUs);
}

TEST(Account, RefillsContinuously) {
  const Tier tier = tokens_per_minute(600);
  Account account;
  EXPECT_TRUE(account.reserve(tier, {.tokens = 600}, after(0)).ok());
  EXPECT_FALSE(account.reserve(tier, {.tokens = 1}, after(0)).ok());
  EXPECT_FALSE(account.reserve(tier, {.tokens = 10}, after(kSecondUs - 1)).ok());
  EXPECT_TRUE(account.reserve(tier, {.tokens = 10}, after(kSecondUs)).ok());
  EXPECT_TRUE(account.reserve(tier, {.tokens = 600}, after(61 * kSecondUs)).ok());
}

TEST(Account, SaysWhichLimitWhatWasAskedWhatIsLeftAndWhenToTryAgain) {
  const Tier tier = tokens_per_minute(600);
  Account account;
  ASSERT_TRUE(account.reserve(tier, {.tokens = 500}, after(0)).ok());
  const base::Error error = account.reserve(tier, {.tokens = 150}, after(0)).error();
  EXPECT_EQ(error.code, base::ErrorCode::exhausted);
  EXPECT_EQ(error.reason, "rate_limit_exceeded");
  EXPECT_DOUBLE_EQ(error.retry_after_s, 5);
  for (const char* text : {"600 tokens per minute", "100 are left", "up to 150", "in 5.000 s"})
    EXPECT_TRUE(says(error, text)) << error.message;
  // The request succeeds after the time that the error named.
  EXPECT_TRUE(account.reserve(tier, {.tokens = 150}, after(5 * kSecondUs)).ok());
}

TEST(Account, TheLongerWaitOfRequestsAndTokensIsTold) {
  const Tier tier{.requests_per_minute = 2, .tokens_per_minute = 600};
  Account account;
  ASSERT_TRUE(account.reserve(tier, {.tokens = 1}, after(0)).ok());
  ASSERT_TRUE(account.reserve(tier, {.tokens = 1}, after(0)).ok());
  const base::Error requests = account.reserve(tier, {.tokens = 1}, after(0)).error();
  EXPECT_TRUE(says(requests, "2 requests per minute")) << requests.message;
  EXPECT_DOUBLE_EQ(requests.retry_after_s, 30);
  const base::Error tokens = account.reserve(tier, {.tokens = 600}, after(29'990'000)).error();
  EXPECT_TRUE(says(tokens, "requests per minute")) << tokens.message;
  // A further part of a request that was already counted needs only tokens.
  EXPECT_TRUE(account.reserve(tier, {.tokens = 590, .requests = 0}, after(0)).ok());
}

TEST(Account, GivesBackWhatWasNotUsed) {
  const Tier tier{.requests_per_minute = 10, .tokens_per_minute = 600, .tokens_per_day = 10000};
  Account account;
  const Account::Taken settled = account.reserve(tier, {.tokens = 600}, after(0)).value();
  account.settle(settled, 40);
  EXPECT_EQ(account.standings(tier, after(0).unix_us).tokens.left, 560);
  EXPECT_EQ(account.standings(tier, after(0).unix_us).requests.left, 9);
  EXPECT_EQ(account.state().day.tokens, 40);
  const Account::Taken unused = account.reserve(tier, {.tokens = 500}, after(0)).value();
  account.give_back(unused);
  EXPECT_EQ(account.standings(tier, after(0).unix_us).tokens.left, 560);
  EXPECT_EQ(account.standings(tier, after(0).unix_us).requests.left, 9);
  EXPECT_EQ(account.state().day.tokens, 40);
}

TEST(Account, TellsWhatIsUsedOfEachLimit) {
  const Tier tier{.max_concurrent = 3, .tokens_per_day = 10000};
  Account account;
  const Account::Taken first = account.reserve(tier, {.tokens = 600}, after(0)).value();
  const Account::Taken second = account.reserve(tier, {.tokens = 100}, after(0)).value();
  Standings now = account.standings(tier, after(0).unix_us);
  EXPECT_EQ(now.inside.limit, 3);
  EXPECT_EQ(now.inside.used, 2);
  EXPECT_EQ(now.day.limit, 10000);
  EXPECT_EQ(now.day.used, 700);
  EXPECT_EQ(now.month.limit, 0);
  account.settle(first, 40);
  account.give_back(second);
  now = account.standings(tier, after(0).unix_us);
  EXPECT_EQ(now.inside.used, 0);
  EXPECT_EQ(now.day.used, 40);
  EXPECT_EQ(account.standings(tier, after(25 * 3600 * kSecondUs).unix_us).day.used, 0);
}

// After a minute the bucket is full again, with or without the reservation. So settling the reservation then
// must not add tokens a second time.
TEST(Account, WhatTheRefillGaveBackDoesNotComeBackAgain) {
  const Tier tier = tokens_per_minute(600);
  Account account;
  const Account::Taken first = account.reserve(tier, {.tokens = 600}, after(0)).value();
  const Account::Taken second = account.reserve(tier, {.tokens = 600}, after(60 * kSecondUs)).value();
  account.settle(first, 0);
  EXPECT_EQ(account.standings(tier, after(60 * kSecondUs).unix_us).tokens.left, 0);
  EXPECT_FALSE(account.reserve(tier, {.tokens = 1}, after(60 * kSecondUs)).ok());
  account.settle(second, 100);
  EXPECT_EQ(account.standings(tier, after(60 * kSecondUs).unix_us).tokens.left, 500);
}

TEST(Account, LimitsHowManyRunAtOnce) {
  const Tier tier{.max_concurrent = 1};
  Account account;
  const Account::Taken taken = account.reserve(tier, {.tokens = 9}, after(0)).value();
  const base::Error error = account.reserve(tier, {.tokens = 9}, after(0)).error();
  EXPECT_EQ(error.reason, "rate_limit_exceeded");
  EXPECT_TRUE(says(error, "1 of 1 concurrent requests")) << error.message;
  account.settle(taken, 9);
  EXPECT_TRUE(account.reserve(tier, {.tokens = 9}, after(0)).ok());
}

TEST(Account, ABudgetThatRunningRequestsHoldIsNotSpent) {
  const Tier tier{.tokens_per_day = 100};
  Account account;
  const Account::Taken taken = account.reserve(tier, {.tokens = 90}, after(0)).value();
  const base::Error error = account.reserve(tier, {.tokens = 20}, after(0)).error();
  EXPECT_EQ(error.reason, "rate_limit_exceeded");
  EXPECT_DOUBLE_EQ(error.retry_after_s, 1);
  account.settle(taken, 81);
  EXPECT_EQ(account.reserve(tier, {.tokens = 20}, after(0)).error().reason, "insufficient_quota");
  EXPECT_TRUE(account.reserve(tier, {.tokens = 19}, after(0)).ok());
}

TEST(Account, BudgetsAreOfTheCalendarsDayAndMonth) {
  const Tier tier{.tokens_per_day = 100, .tokens_per_month = 1000};
  Account account;
  account.settle(account.reserve(tier, {.tokens = 80}, after(0)).value(), 80);
  const Account::Taken taken = account.reserve(tier, {.tokens = 10}, after(0)).value();
  const base::Error error = account.reserve(tier, {.tokens = 21}, after(0)).error();
  EXPECT_EQ(error.reason, "insufficient_quota");
  EXPECT_DOUBLE_EQ(error.retry_after_s, 60);
  for (const char* text : {"100 tokens a day", "10 left", "up to 21"})
    EXPECT_TRUE(says(error, text)) << error.message;
  ASSERT_TRUE(account.reserve(tier, {.tokens = 100}, after(60 * kSecondUs)).ok());
  // The reservation was charged to yesterday, so today's budget does not grow.
  account.settle(taken, 1);
  EXPECT_FALSE(account.reserve(tier, {.tokens = 1}, after(60 * kSecondUs)).ok());
}

TEST(Account, AClockThatIsSetBackRenewsNoBudgetAndFreezesNoBucket) {
  const Tier tier{.tokens_per_minute = 600, .tokens_per_day = 700};
  Account account;
  account.settle(account.reserve(tier, {.tokens = 600}, after(61 * kSecondUs)).value(), 600);
  EXPECT_EQ(account.reserve(tier, {.tokens = 200}, after(0)).error().reason, "insufficient_quota");
  const base::Error error = account.reserve(tier, {.tokens = 10}, after(-3600 * kSecondUs)).error();
  EXPECT_LE(error.retry_after_s, 60) << error.message;
  EXPECT_TRUE(account.reserve(tier, {.tokens = 100}, after(-3540 * kSecondUs)).ok());
}

TEST(Account, WhatCouldNeverPassIsTold) {
  const Tier tier{.tokens_per_minute = 600, .tokens_per_day = 500};
  Account account;
  EXPECT_EQ(most_tokens(tier), 500);
  const base::Error error = account.reserve(tier, {.tokens = 501}, after(0)).error();
  EXPECT_LT(error.retry_after_s, 0);
  EXPECT_TRUE(says(error, "tokens per day is 500")) << error.message;
}

TEST(Account, ARequestThatFewerWouldDoForGetsHalfOfWhatIsLeft) {
  const Tier tier = tokens_per_minute(1000);
  Account account;
  const Cost cost{.tokens = 5000, .least_tokens = 100};
  EXPECT_EQ(account.reserve(tier, cost, after(0))->tokens, 500);
  EXPECT_EQ(account.reserve(tier, cost, after(0))->tokens, 250);
  EXPECT_EQ(account.reserve(tier, cost, after(0))->tokens, 125);
  EXPECT_EQ(account.reserve(tier, cost, after(0))->tokens, 100);
  EXPECT_FALSE(account.reserve(tier, cost, after(0)).ok());
  const Cost small{.tokens = 20, .least_tokens = 10};
  EXPECT_EQ(account.reserve(tier, small, after(0))->tokens, 12);
}

TEST(Account, IsForgottenOnceNothingIsLeftToRemember) {
  const Tier minute = tokens_per_minute(600);
  Account account;
  EXPECT_TRUE(account.forgettable(after(0)));
  const Account::Taken taken = account.reserve(minute, {.tokens = 60}, after(0)).value();
  EXPECT_FALSE(account.forgettable(after(60 * kSecondUs)));
  account.settle(taken, 60);
  EXPECT_FALSE(account.forgettable(after(5 * kSecondUs)));
  EXPECT_TRUE(account.forgettable(after(6 * kSecondUs)));
  const Tier day{.tokens_per_day = 100};
  account.settle(account.reserve(day, {.tokens = 10}, after(7 * kSecondUs)).value(), 1);
  EXPECT_FALSE(account.forgettable(after(8 * kSecondUs)));
  EXPECT_TRUE(account.forgettable(after(2 * kDayUs)));
}

}  // namespace
}  // namespace kvasir::tenancy

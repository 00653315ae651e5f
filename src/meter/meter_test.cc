#include "meter/meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "meter/meter_fixture.h"
#include "store/failing_store.h"

namespace kvasir::meter {
namespace {

Price price_of(std::string model, std::string tier, std::int64_t prompt_nano) {
  return {.model = std::move(model),
          .tier = std::move(tier),
          .prompt_nano = prompt_nano,
          .cached_nano = prompt_nano / 2,
          .completion_nano = 4 * prompt_nano,
          .currency = "USD"};
}

TEST(PriceBookTest, TheRowThatSaysMostWins) {
  const PriceBook book(
      {price_of("", "", 1), price_of("", "pro", 2), price_of("m", "", 3), price_of("m", "pro", 4)});
  EXPECT_EQ(book.find("m", "pro")->prompt_nano, 4);
  EXPECT_EQ(book.find("m", "free")->prompt_nano, 3);
  EXPECT_EQ(book.find("n", "pro")->prompt_nano, 2);
  EXPECT_EQ(book.find("n", "free")->prompt_nano, 1);
  EXPECT_EQ(PriceBook({price_of("m", "pro", 4)}).find("m", "free"), nullptr);
  EXPECT_EQ(PriceBook({}).find("m", ""), nullptr);
}

TEST(PriceBookTest, ACostIsRoundedOnceAndNeverOverflows) {
  // 0.15 per million tokens is 150 nano per token.
  const Price price = price_of("m", "", 150'000'000);
  EXPECT_EQ(cost_nano(price, {.prompt = 10, .cached = 4, .completion = 3}), 6 * 150 + 4 * 75 + 3 * 600);
  // 0.0125 per million tokens is 12.5 nano per token.
  const Price fine{.prompt_nano = 12'500'000, .cached_nano = 12'500'000, .currency = "USD"};
  EXPECT_EQ(cost_nano(fine, {.prompt = 1}), 13);
  EXPECT_EQ(cost_nano(fine, {.prompt = 1000}), 12'500);
  const Price dear{.prompt_nano = 100'000'000'000'000, .completion_nano = 100'000'000'000'000};
  EXPECT_EQ(cost_nano(dear, {.prompt = 1'000'000'000, .completion = 1'000'000'000}), 200'000'000'000'000'000);
}

TEST(UsageRecordTest, ComesBackAsItWas) {
  UsageRecord record = record_number(3);
  record.kind = UsageRecord::Kind::summary;
  record.adapter = std::string("\0x", 2);
  const std::string bytes = encode(record);
  EXPECT_EQ(decode(bytes).value(), record);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size)).ok());
  EXPECT_FALSE(decode(bytes + "x").ok());
}

TEST(UsageRecordTest, ASummaryIsNoRequestAndADayBeginsAtMidnight) {
  UsageRecord record = record_number(1);
  record.time_ms = 86'400'000 - 1;
  EXPECT_EQ(totals_of(record).group.day, 0);
  record.time_ms = 86'400'000;
  EXPECT_EQ(totals_of(record).group.day, 1);
  EXPECT_EQ(totals_of(record).totals.num_requests, 1);
  record.kind = UsageRecord::Kind::summary;
  EXPECT_EQ(totals_of(record).totals.num_requests, 0);
  EXPECT_EQ(totals_of(record).totals.prompt_tokens, 2);
}

class MeterTest : public testing::Test {
 protected:
  std::unique_ptr<Meter> open(std::vector<Price> prices = {}) {
    return Meter::open({.folder = folder_.path() / "usage",
                        .prices = std::move(prices),
                        .fold_interval = std::chrono::milliseconds(2)},
                       store_.usage())
        .value();
  }

  store::TempFolder folder_;
  store::FailingStore store_{store::SqliteStore::open(folder_.path() / "kvasir.db").value()};
};

TEST_F(MeterTest, RecordsReachTheTotalsWhileItRuns) {
  const auto meter = open();
  std::atomic<int> num_done = 0;
  for (int i = 0; i < 30; ++i) meter->record(record_number(i), "", [&] { ++num_done; });
  EXPECT_TRUE(eventually([&] { return num_done == 30; }));
  EXPECT_TRUE(eventually([&] { return all_totals(store_.usage()) == expected_totals(30); }));
}

TEST_F(MeterTest, WhatIsLeftAtTheEndIsFolded) {
  {
    const auto meter = open();
    for (int i = 0; i < 30; ++i) meter->record(record_number(i), "", {});
  }
  EXPECT_EQ(all_totals(store_.usage()), expected_totals(30));
  {
    const auto meter = open();
    for (int i = 30; i < 40; ++i) meter->record(record_number(i), "", {});
  }
  EXPECT_EQ(all_totals(store_.usage()), expected_totals(40));
}

TEST_F(MeterTest, AStoreThatFailsIsToldLater) {
  store_.full = true;
  {
    const auto meter = open();
    for (int i = 0; i < 10; ++i) meter->record(record_number(i), "", {});
  }
  EXPECT_EQ(all_totals(store_.usage()), store::UsageTotals{});
  const auto meter = open();
  for (int i = 10; i < 20; ++i) meter->record(record_number(i), "", {});
  store_.full = false;
  EXPECT_TRUE(eventually([&] { return all_totals(store_.usage()) == expected_totals(20); }));
}

TEST_F(MeterTest, TheLagGrowsUntilTheTotalsHaveEverything) {
  store_.full = true;
  const auto meter = open();
  EXPECT_EQ(meter->lag(), base::Duration::zero());
  meter->record(record_number(0), "", {});
  const base::Duration before = meter->lag();
  EXPECT_GT(before, base::Duration::zero());
  EXPECT_TRUE(eventually([&] { return meter->lag() > before + std::chrono::milliseconds(20); }));
  store_.full = false;
  EXPECT_TRUE(eventually([&] { return meter->lag() == base::Duration::zero(); }));
  EXPECT_EQ(all_totals(store_.usage()), expected_totals(1));
}

// Two ended processes have left a log each. A third process takes over both, and keeps one of the folders.
TEST_F(MeterTest, LogsOfProcessesThatAreGoneAreTakenUp) {
  store_.full = true;
  {
    const auto first = open();
    const auto second = open();
    for (int i = 0; i < 10; ++i) first->record(record_number(i), "", {});
    for (int i = 10; i < 20; ++i) second->record(record_number(i), "", {});
  }
  store_.full = false;
  const auto third = open();
  EXPECT_TRUE(eventually([&] { return all_totals(store_.usage()) == expected_totals(20); }));
  const auto num_folders = [&] {
    const std::filesystem::directory_iterator it(folder_.path() / "usage");
    return std::distance(begin(it), end(it));
  };
  EXPECT_TRUE(eventually([&] { return num_folders() == 1; }));
}

TEST_F(MeterTest, WhatFailedCostsNothing) {
  {
    const auto meter = open({price_of("m", "", 1'000'000)});
    UsageRecord record;
    record.tenant = "t";
    record.model = "m";
    record.prompt_tokens = 100;
    record.finish = Finish::stop;
    meter->record(record, "", {});
    record.finish = Finish::failed;
    meter->record(record, "", {});
    record.model = "n";
    meter->record(record, "", {});
  }
  const auto rows = store_.usage().totals({.tenant = "t", .end_day = 1, .by_model = true}).value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].totals.cost_nano, 100);
  EXPECT_EQ(rows[0].group.currency, "USD");
  EXPECT_EQ(rows[0].totals.num_requests, 2);
  EXPECT_EQ(rows[1].group.currency, "");
}

}  // namespace
}  // namespace kvasir::meter

#include <cstdint>
#include <string>
#include <vector>

#include "store/store_contract.h"

namespace kvasir::store {
namespace {

using base::ErrorCode;

UsageRow used(UsageGroup group, std::int64_t num_requests) {
  return {std::move(group),
          {.num_requests = num_requests,
           .num_cancelled = 1,
           .num_failed = 0,
           .prompt_tokens = 10 * num_requests,
           .cached_tokens = num_requests,
           .completion_tokens = 2 * num_requests,
           .cost_nano = 7 * num_requests}};
}

std::string shown(const std::vector<UsageRow>& rows) {
  std::string all;
  for (const UsageRow& row : rows)
    all += fmt::format("{} {} {} {} {}: {} {} {}\n", row.group.day, row.group.tenant, row.group.key,
                       row.group.model, row.group.currency, row.totals.num_requests, row.totals.prompt_tokens,
                       row.totals.cost_nano);
  return all;
}

TEST_P(StoreContract, APartOfALogIsFoldedOnce) {
  Usage& usage = store_->usage();
  EXPECT_EQ(usage.position("log").value(), 0);
  const UsageFold first{.log = "log", .from = 0, .to = 50, .rows = {used({"t", 3, "k", "m", "USD"}, 2)}};
  ASSERT_TRUE(usage.fold(first).ok());
  EXPECT_EQ(usage.fold(first).error().code, ErrorCode::conflict);
  EXPECT_EQ(usage.fold({.log = "log", .from = 60, .to = 70}).error().code, ErrorCode::conflict);
  reopen();
  Usage& again = store_->usage();
  EXPECT_EQ(again.position("log").value(), 50);
  EXPECT_EQ(again.fold(first).error().code, ErrorCode::conflict);
  ASSERT_TRUE(
      again.fold({.log = "log", .from = 50, .to = 60, .rows = {used({"t", 3, "k", "m", "USD"}, 5)}}).ok());
  const auto rows = again.totals({.tenant = "t", .end_day = 10}).value();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].totals, (UsageTotals{7, 2, 0, 70, 7, 14, 49}));
  ASSERT_TRUE(again.forget("log").ok());
  EXPECT_EQ(again.position("log").value(), 0);
}

TEST_P(StoreContract, TotalsAreToldApartAsAsked) {
  Usage& usage = store_->usage();
  ASSERT_TRUE(usage
                  .fold({.log = "log",
                         .to = 1,
                         .rows = {used({"t", 1, "k1", "m", "USD"}, 1), used({"t", 1, "k2", "m", "USD"}, 2),
                                  used({"t", 2, "k1", "n", "USD"}, 4), used({"t", 2, "k1", "n", ""}, 8),
                                  used({"u", 2, "k3", "m", "USD"}, 16)}})
                  .ok());
  const auto asked = [&](const UsageQuery& query) { return shown(usage.totals(query).value()); };
  EXPECT_EQ(asked({.tenant = "t", .end_day = 9}), "0    : 8 80 56\n0    USD: 7 70 49\n");
  EXPECT_EQ(asked({.tenant = "t", .first_day = 1, .end_day = 2}), "0    USD: 3 30 21\n");
  EXPECT_EQ(asked({.tenant = "t", .end_day = 9, .by_key = true}),
            "0  k1  : 8 80 56\n0  k1  USD: 5 50 35\n0  k2  USD: 2 20 14\n");
  EXPECT_EQ(asked({.tenant = "t", .end_day = 9, .by_day = true, .by_model = true}),
            "1   m USD: 3 30 21\n2   n : 8 80 56\n2   n USD: 4 40 28\n");
  EXPECT_EQ(asked({.tenant = "t", .end_day = 9, .by_day = true, .limit = 1, .offset = 1}),
            "2    : 8 80 56\n");
  EXPECT_EQ(asked({.end_day = 9, .by_tenant = true}),
            "0 t   : 8 80 56\n0 t   USD: 7 70 49\n0 u   USD: 16 160 112\n");
  EXPECT_EQ(asked({.tenant = "v", .end_day = 9}), "");
}

}  // namespace
}  // namespace kvasir::store

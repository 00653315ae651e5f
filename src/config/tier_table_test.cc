#include "config/tier_table.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "config/settings.h"

namespace kvasir::config {
namespace {

base::Result<std::vector<TierConfig>> read(const std::string& text) {
  const toml::parse_result parsed = toml::parse(text, std::string_view("s.toml"));
  if (!parsed) return base::error(base::ErrorCode::invalid_argument, "not TOML");
  return read_tier_table(*parsed.table().get("tiers"), "s.toml");
}

std::string complaint(const std::string& row) {
  const auto tiers = read("port = 1\n[[tiers]]\n" + row);
  return tiers.ok() ? "it was taken" : tiers.error().message;
}

TEST(TierTable, ThreeTiersAreBuiltIn) {
  const std::vector<TierConfig> tiers = Settings{}.tiers;
  ASSERT_EQ(tiers.size(), 3u);
  EXPECT_EQ(find_tier(tiers, "free")->tokens_per_day, 1'000'000);
  EXPECT_EQ(find_tier(tiers, "pro")->requests_per_minute, 600);
  EXPECT_EQ(find_tier(tiers, "enterprise")->weight, 16);
  EXPECT_EQ(find_tier(tiers, "enterprise")->requests_per_minute, 0);
  EXPECT_EQ(find_tier(tiers, "gold"), nullptr);
}

TEST(TierTable, ARowChangesWhatItGivesAndAnotherNameIsANewTier) {
  const auto tiers = read(R"(
[[tiers]]
name = "free"
requests_per_minute = 5
models = ["small"]

[[tiers]]
name = "gold"
weight = 8
tokens_per_month = 5_000_000_000
slo_ttft_ms = 200
)");
  ASSERT_TRUE(tiers.ok()) << tiers.error().message;
  ASSERT_EQ(tiers->size(), 4u);
  const TierConfig& free = *find_tier(*tiers, "free");
  EXPECT_EQ(free.requests_per_minute, 5);
  EXPECT_EQ(free.tokens_per_minute, 40'000);
  EXPECT_EQ(free.models, std::vector<std::string>{"small"});
  const TierConfig& gold = *find_tier(*tiers, "gold");
  EXPECT_EQ(gold.weight, 8);
  EXPECT_EQ(gold.tokens_per_month, 5'000'000'000);
  EXPECT_EQ(gold.slo_ttft_ms, 200);
  EXPECT_EQ(gold.requests_per_minute, 0);
}

TEST(TierTable, ABadTierIsNamedWithItsLine) {
  struct Case {
    const char* row;
    const char* complaint;
  };
  const Case cases[] = {
      {"weight = 1", "name: expected"},
      {"name = 'a b'", "name: expected"},
      {"name = 3", "name: expected"},
      {"name = 'a'\nweight = 0", "weight: expected a whole number from 1 to"},
      {"name = 'a'\nweight = 1.5", "weight: expected a whole number"},
      {"name = 'a'\npriority = -1", "priority: expected"},
      {"name = 'a'\nrequests_per_minute = '5'", "requests_per_minute: expected"},
      {"name = 'a'\nmax_concurrent = 3000000000", "max_concurrent: expected"},
      {"name = 'a'\nmodels = 'm'", "models: expected"},
      {"name = 'a'\nmodels = [1]", "models: expected"},
      {"name = 'a'\nrpm = 5", "'rpm' is not a key of a tier"},
  };
  for (const Case& c : cases) {
    const std::string message = complaint(c.row);
    EXPECT_NE(message.find(std::string("s.toml:2: tiers: ") + c.complaint), std::string::npos) << message;
  }
  EXPECT_NE(complaint("name = 'a'\n[[tiers]]\nname = 'a'").find(":4: tiers: two are called 'a'"),
            std::string::npos);
  EXPECT_NE(read("tiers = 3").error().message.find("expected [[tiers]]"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::config

#include "config/tier_table.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace kvasir::config {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxTierName = 40;
constexpr std::int64_t kMaxCount = 1'000'000'000'000'000;  // largest number of requests or tokens
constexpr std::array kTierKeys = {
    "name",           "weight",         "priority",         "requests_per_minute", "tokens_per_minute",
    "max_concurrent", "tokens_per_day", "tokens_per_month", "max_context",         "models",
    "slo_ttft_ms",    "slo_tpot_ms",    "max_wait_ms"};

base::Error unexpected(std::string_view key, std::string_view expected) {
  return base::error(ErrorCode::invalid_argument, "{}: expected {}", key, expected);
}

bool is_tier_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxTierName && std::ranges::all_of(name, allowed);
}

// If the key is missing, `into` does not change.
template <std::integral Number>
Status take_whole(const toml::table& table, std::string_view key, std::pair<std::int64_t, std::int64_t> range,
                  Number& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return base::ok();
  const auto* whole = node->as_integer();
  if (whole == nullptr || whole->get() < range.first || whole->get() > range.second)
    return unexpected(key, fmt::format("a whole number from {} to {}", range.first, range.second));
  into = static_cast<Number>(whole->get());
  return base::ok();
}

Status take_models(const toml::table& table, std::vector<std::string>& into) {
  const toml::node* node = table.get("models");
  if (node == nullptr) return base::ok();
  const toml::array* array = node->as_array();
  if (array == nullptr) return unexpected("models", "an array of names");
  std::vector<std::string> names;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr || text->get().empty()) return unexpected("models", "an array of names");
    names.push_back(text->get());
  }
  into = std::move(names);
  return base::ok();
}

Result<std::string> take_name(const toml::table& table) {
  const toml::node* node = table.get("name");
  const auto* text = node == nullptr ? nullptr : node->as_string();
  if (text == nullptr || !is_tier_name(text->get()))
    return unexpected("name", "up to 40 letters, digits, dashes and underscores");
  return text->get();
}

// Changes the fields that the table has.
Status change_tier(const toml::table& table, TierConfig& tier) {
  constexpr std::pair<std::int64_t, std::int64_t> kCount{0, kMaxCount};
  constexpr std::pair<std::int64_t, std::int64_t> kSmall{0, std::numeric_limits<int>::max()};
  TRY_OK(take_whole(table, "weight", {1, 10'000}, tier.weight));
  TRY_OK(take_whole(table, "priority", {0, 100}, tier.priority));
  TRY_OK(take_whole(table, "requests_per_minute", kCount, tier.requests_per_minute));
  TRY_OK(take_whole(table, "tokens_per_minute", kCount, tier.tokens_per_minute));
  TRY_OK(take_whole(table, "max_concurrent", kSmall, tier.max_concurrent));
  TRY_OK(take_whole(table, "tokens_per_day", kCount, tier.tokens_per_day));
  TRY_OK(take_whole(table, "tokens_per_month", kCount, tier.tokens_per_month));
  TRY_OK(take_whole(table, "max_context", {0, 1 << 24}, tier.max_context));
  TRY_OK(take_models(table, tier.models));
  TRY_OK(take_whole(table, "slo_ttft_ms", {0, 3'600'000}, tier.slo_ttft_ms));
  TRY_OK(take_whole(table, "slo_tpot_ms", {0, 3'600'000}, tier.slo_tpot_ms));
  return take_whole(table, "max_wait_ms", {-1, 3'600'000}, tier.max_wait_ms);
}

// Adds a tier, or changes the tier with the row's name. `seen` holds the names of the earlier rows.
Status read_tier_row(const toml::table& table, std::vector<TierConfig>& tiers, std::set<std::string>& seen) {
  for (const auto& [key, value] : table)
    if (std::ranges::find(kTierKeys, key.str()) == kTierKeys.end())
      return base::error(ErrorCode::invalid_argument, "'{}' is not a key of a tier; expected one of {}",
                         key.str(), fmt::join(kTierKeys, ", "));
  TRY(const std::string name, take_name(table));
  if (!seen.insert(name).second) return base::error(ErrorCode::invalid_argument, "two are called '{}'", name);
  auto tier = std::ranges::find(tiers, name, &TierConfig::name);
  if (tier == tiers.end()) tier = tiers.insert(tiers.end(), TierConfig{.name = name});
  return change_tier(table, *tier);
}

}  // namespace

Result<std::vector<TierConfig>> read_tier_table(const toml::node& node, const std::string& path) {
  const auto at = [&](const toml::node& place, std::string_view what) {
    return base::error(ErrorCode::invalid_argument, "{}:{}: tiers: {}", path, place.source().begin.line,
                       what);
  };
  const toml::array* rows = node.as_array();
  if (rows == nullptr) return at(node, "expected [[tiers]] tables");
  std::vector<TierConfig> tiers = built_in_tiers();
  std::set<std::string> seen;
  for (const toml::node& row : *rows) {
    const toml::table* table = row.as_table();
    if (table == nullptr) return at(row, "expected [[tiers]] tables");
    if (const Status read = read_tier_row(*table, tiers, seen); !read.ok())
      return at(row, read.error().message);
  }
  return tiers;
}

}  // namespace kvasir::config

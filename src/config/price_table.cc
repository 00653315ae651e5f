#include "config/price_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace kvasir::config {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::array kPriceKeys = {"model", "tier", "prompt", "cached", "completion", "currency"};
constexpr double kMaxPrice = 100'000;  // per million tokens; the cost of one request cannot overflow
constexpr double kNano = 1e9;

base::Error wrong_price(std::string_view key, std::string_view expected) {
  return base::error(ErrorCode::invalid_argument, "{}: expected {}", key, expected);
}

Status take_name(const toml::table& table, std::string_view key, std::string& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return base::ok();
  const auto* text = node->as_string();
  if (text == nullptr || text->get().empty()) return wrong_price(key, "a string that is not empty");
  into = text->get();
  return base::ok();
}

// False if the table does not have the key.
Result<bool> take_price(const toml::table& table, std::string_view key, std::int64_t& into_nano) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return false;
  const auto number = node->value<double>();
  if (!node->is_number() || !number || !(*number >= 0 && *number <= kMaxPrice))
    return wrong_price(key, fmt::format("a price of a million tokens from 0 to {}", kMaxPrice));
  into_nano = std::llround(*number * kNano);
  return true;
}

Result<PriceConfig> read_price(const toml::table& table) {
  for (const auto& [key, value] : table)
    if (std::ranges::find(kPriceKeys, key.str()) == kPriceKeys.end())
      return base::error(ErrorCode::invalid_argument, "'{}' is not a key of a price; expected one of {}",
                         key.str(), fmt::join(kPriceKeys, ", "));
  PriceConfig price;
  TRY_OK(take_name(table, "model", price.model));
  TRY_OK(take_name(table, "tier", price.tier));
  TRY_OK(take_name(table, "currency", price.currency));
  TRY(const bool has_prompt, take_price(table, "prompt", price.prompt_nano));
  TRY(const bool has_cached, take_price(table, "cached", price.cached_nano));
  TRY_OK(take_price(table, "completion", price.completion_nano));
  if (!has_prompt) return wrong_price("prompt", "the price of a million tokens");
  if (!has_cached) price.cached_nano = price.prompt_nano;
  if (price.currency.empty()) return wrong_price("currency", "a name, as \"USD\"");
  return price;
}

}  // namespace

Result<std::vector<PriceConfig>> read_price_table(const toml::node& node, const std::string& path) {
  const auto at = [&](const toml::node& place, std::string_view what) {
    return base::error(ErrorCode::invalid_argument, "{}:{}: prices: {}", path, place.source().begin.line,
                       what);
  };
  const toml::array* rows = node.as_array();
  if (rows == nullptr) return at(node, "expected [[prices]] tables");
  std::vector<PriceConfig> prices;
  for (const toml::node& row : *rows) {
    const toml::table* table = row.as_table();
    if (table == nullptr) return at(row, "expected [[prices]] tables");
    auto price = read_price(*table);
    if (!price.ok()) return at(row, price.error().message);
    const auto same = [&](const PriceConfig& other) {
      return other.model == price->model && other.tier == price->tier;
    };
    if (std::ranges::any_of(prices, same))
      return at(
          row, fmt::format("two are of model '{}' and tier '{}'", price->model.empty() ? "any" : price->model,
                           price->tier.empty() ? "any" : price->tier));
    prices.push_back(std::move(*price));
  }
  return prices;
}

}  // namespace kvasir::config

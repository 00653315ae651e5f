#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "config/price_config.h"

namespace kvasir::meter {

using Price = config::PriceConfig;

struct Tokens {
  std::int64_t prompt = 0;
  std::int64_t cached = 0;  // of the prompt's
  std::int64_t completion = 0;
};

// In 1e-9 of the currency's unit; the sum is rounded once.
std::int64_t cost_nano(const Price& price, const Tokens& tokens);

// What tokens of a model cost a tier. Never changes.
class PriceBook {
 public:
  explicit PriceBook(std::vector<Price> prices) : prices_(std::move(prices)) {}

  // The row that says most: of the model and the tier, of the model, of the tier, of everything. Null: none.
  const Price* find(std::string_view model, std::string_view tier) const;

 private:
  const std::vector<Price> prices_;
};

}  // namespace kvasir::meter

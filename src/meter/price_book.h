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
  std::int64_t cached = 0;  // part of the prompt tokens
  std::int64_t completion = 0;
};

// The cost in 1e-9 of the currency's unit. Only the sum is rounded.
std::int64_t cost_nano(const Price& price, const Tokens& tokens);

// The prices by model and tier. Immutable.
class PriceBook {
 public:
  explicit PriceBook(std::vector<Price> prices) : prices_(std::move(prices)) {}

  // The most specific price: for the model and the tier, else the model, else the tier, else for everything.
  // Null if there is none.
  const Price* find(std::string_view model, std::string_view tier) const;

 private:
  const std::vector<Price> prices_;
};

}  // namespace kvasir::meter

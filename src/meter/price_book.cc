#include "meter/price_book.h"

namespace kvasir::meter {

std::int64_t cost_nano(const Price& price, const Tokens& tokens) {
  constexpr std::int64_t kMillion = 1'000'000;
  __extension__ using Wide = __int128;
  const Wide sum = static_cast<Wide>(tokens.prompt - tokens.cached) * price.prompt_nano +
                   static_cast<Wide>(tokens.cached) * price.cached_nano +
                   static_cast<Wide>(tokens.completion) * price.completion_nano;
  return static_cast<std::int64_t>((sum + kMillion / 2) / kMillion);
}

const Price* PriceBook::find(std::string_view model, std::string_view tier) const {
  const Price* best = nullptr;
  int best_rank = -1;
  for (const Price& price : prices_) {
    const bool fits =
        (price.model.empty() || price.model == model) && (price.tier.empty() || price.tier == tier);
    const int rank = (price.model.empty() ? 0 : 2) + (price.tier.empty() ? 0 : 1);
    if (!fits || rank <= best_rank) continue;
    best = &price;
    best_rank = rank;
  }
  return best;
}

}  // namespace kvasir::meter

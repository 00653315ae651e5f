#include "config/tier_config.h"

#include <algorithm>

namespace kvasir::config {

std::vector<TierConfig> built_in_tiers() {
  return {{.name = "free",
           .weight = 1,
           .priority = 0,
           .requests_per_minute = 60,
           .tokens_per_minute = 40'000,
           .max_concurrent = 8,
           .tokens_per_day = 1'000'000,
           .max_context = 32'768,
           .max_wait_ms = 0},
          {.name = "pro",
           .weight = 4,
           .priority = 1,
           .requests_per_minute = 600,
           .tokens_per_minute = 400'000,
           .max_concurrent = 64,
           .max_context = 65'536,
           .max_wait_ms = 5'000},
          {.name = "enterprise",
           .weight = 16,
           .priority = 2,
           .max_concurrent = 256,
           .max_context = 131'072,
           .max_wait_ms = 30'000}};
}

const TierConfig* find_tier(const std::vector<TierConfig>& tiers, std::string_view name) {
  const auto found = std::ranges::find(tiers, name, &TierConfig::name);
  return found == tiers.end() ? nullptr : &*found;
}

}  // namespace kvasir::config

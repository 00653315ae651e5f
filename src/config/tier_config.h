#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::config {

// The limits of each tenant of a tier. 0 or empty: no limit.
struct TierConfig {
  std::string name;
  int weight = 1;    // share of the server against other tenants' of the same priority, and of the prefix
                     // cache; at least 1
  int priority = 0;  // tenants with a larger one go first
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  int max_concurrent = 0;  // requests that run or wait at once
  std::int64_t tokens_per_day = 0;
  std::int64_t tokens_per_month = 0;
  int max_context = 0;              // tokens of prompt and answer together
  std::vector<std::string> models;  // names of the models that may be used
  int slo_ttft_ms = 0;              // 0: the model's own SLO
  int slo_tpot_ms = 0;
  // How long a request that would miss its SLO may wait. 0: it is refused at once; -1: it is never refused
  // for that.
  int max_wait_ms = -1;
};

// "free", "pro" and "enterprise" with the values that they have without a settings file.
std::vector<TierConfig> built_in_tiers();

// Returns null if no tier has the name.
const TierConfig* find_tier(const std::vector<TierConfig>& tiers, std::string_view name);

}  // namespace kvasir::config

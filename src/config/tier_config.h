#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::config {

// What each tenant of a tier may use. 0 or empty where there is no limit.
struct TierConfig {
  std::string name;
  int weight = 1;    // share of the server against other tenants' of the same priority, and of the prefix
                     // cache; at least 1
  int priority = 0;  // class: a larger one goes first
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  int max_concurrent = 0;  // requests that run or wait at once
  std::int64_t tokens_per_day = 0;
  std::int64_t tokens_per_month = 0;
  int max_context = 0;              // tokens of prompt and answer together
  std::vector<std::string> models;  // that may be asked for
  int slo_ttft_ms = 0;              // 0: the model's own
  int slo_tpot_ms = 0;
  // How long a request may wait while it would miss its SLO; 0: it is refused at once, -1: it is never
  // refused for that.
  int max_wait_ms = -1;
};

// "free", "pro" and "enterprise", as they are without a settings file.
std::vector<TierConfig> built_in_tiers();

// Null where none has the name.
const TierConfig* find_tier(const std::vector<TierConfig>& tiers, std::string_view name);

}  // namespace kvasir::config

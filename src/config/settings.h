#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/price_config.h"
#include "config/tier_config.h"
#include "config/tool_config.h"
#include "config/upstream_config.h"

namespace kvasir::config {

using StringList = std::vector<std::string>;

// The settings of a process; settings.def explains each of them.
struct Settings {
#define SETTING(type, name, default_value, check, sentence) type name = default_value;
#include "config/settings.def"
#undef SETTING
  std::vector<ToolConfig> tools;                     // of the file alone
  std::vector<TierConfig> tiers = built_in_tiers();  // with what the file changes and adds
  std::vector<PriceConfig> prices;                   // of the file alone
  std::vector<UpstreamConfig> upstreams;             // of the file alone
};

// Replaces sizes that are 0 by values for the device. A KV cache that takes the rest of a GPU's memory stays
// 0.
Settings with_sizes(Settings settings);

// A file that --config takes, with these values; secrets and tools are left out, for the secrets that they
// may hold, and tiers, prices and upstreams.
std::string settings_toml(const Settings& settings);

// The text of docs/settings.md, made from the table.
std::string settings_markdown();

}  // namespace kvasir::config

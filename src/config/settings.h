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
  std::vector<ToolConfig> tools;                     // from the file only
  std::vector<TierConfig> tiers = built_in_tiers();  // built-in tiers with the file's changes and additions
  std::vector<PriceConfig> prices;                   // from the file only
  std::vector<UpstreamConfig> upstreams;             // from the file only
};

// Replaces sizes that are 0 by values for the device. A KV cache that takes the rest of a GPU's memory stays
// 0.
Settings with_sizes(Settings settings);

// Writes these values as a file for --config. Secrets, tools (they may hold secrets), tiers, prices and
// upstreams are left out.
std::string settings_toml(const Settings& settings);

// The text of docs/settings.md, made from the table.
std::string settings_markdown();

}  // namespace kvasir::config

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/tier_config.h"
#include "config/tool_config.h"

namespace kvasir::config {

using StringList = std::vector<std::string>;

// The values that a process runs with; settings.def says what each means.
struct Settings {
#define SETTING(type, name, default_value, check, sentence) type name = default_value;
#include "config/settings.def"
#undef SETTING
  std::vector<ToolConfig> tools;                     // of the file alone
  std::vector<TierConfig> tiers = built_in_tiers();  // with what the file changes and adds
};

// The same with a value for each size whose 0 means that the device decides. A KV cache that takes what is
// left of a GPU stays 0.
Settings with_sizes(Settings settings);

// A file that --config takes, with these values; tools are left out, for the secrets that they may hold, and
// tiers.
std::string settings_toml(const Settings& settings);

// docs/settings.md, made from the table.
std::string settings_markdown();

}  // namespace kvasir::config

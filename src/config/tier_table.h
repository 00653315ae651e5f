#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/tier_config.h"
#include "config/toml_library.h"

namespace kvasir::config {

// The built-in tiers with what the `[[tiers]]` of a settings file change, and those that they add. An error
// names the file and the line.
base::Result<std::vector<TierConfig>> read_tier_table(const toml::node& node, const std::string& path);

}  // namespace kvasir::config

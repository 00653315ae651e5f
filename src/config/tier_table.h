#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/tier_config.h"
#include "config/toml_library.h"

namespace kvasir::config {

// Reads the `[[tiers]]` of a settings file: the built-in tiers with the file's changes, and new ones. An
// error names the file and the line.
base::Result<std::vector<TierConfig>> read_tier_table(const toml::node& node, const std::string& path);

}  // namespace kvasir::config

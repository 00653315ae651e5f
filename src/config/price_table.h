#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/price_config.h"
#include "config/toml_library.h"

namespace kvasir::config {

// Reads the `[[prices]]` of a settings file. An error names the file and the line.
base::Result<std::vector<PriceConfig>> read_price_table(const toml::node& node, const std::string& path);

}  // namespace kvasir::config

#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/toml_library.h"
#include "config/upstream_config.h"

namespace kvasir::config {

// Reads the `[[upstream]]` of a settings file. Errors name the file and the line.
base::Result<std::vector<UpstreamConfig>> read_upstream_table(const toml::node& node,
                                                              const std::string& path);

}  // namespace kvasir::config

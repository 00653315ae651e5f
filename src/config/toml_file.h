#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/price_config.h"
#include "config/tier_config.h"
#include "config/tool_config.h"
#include "config/upstream_config.h"

namespace kvasir::config {

// A settings file: each key with its value as text (several texts for an array) and its line.
struct TomlFile {
  struct Entry {
    std::vector<std::string> texts;
    int line = 0;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::vector<ToolConfig> tools;
  std::vector<TierConfig> tiers = built_in_tiers();
  std::vector<PriceConfig> prices;
  std::vector<UpstreamConfig> upstreams;
};

// Errors name the file and the line: a syntax error, an unknown key (with the nearest setting), or a value of
// the wrong type.
base::Result<TomlFile> read_toml(const std::string& path);

}  // namespace kvasir::config

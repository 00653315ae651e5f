#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/tier_config.h"
#include "config/tool_config.h"

namespace kvasir::config {

// A settings file: each key that it sets, with its value as text (an array as several) and its line.
struct TomlFile {
  struct Entry {
    std::vector<std::string> texts;
    int line = 0;
  };
  std::map<std::string, Entry, std::less<>> entries;
  std::vector<ToolConfig> tools;
  std::vector<TierConfig> tiers = built_in_tiers();
};

// An error names the file and the line: a syntax error, a key that is no setting (with the nearest one that
// is), or a value of the wrong type.
base::Result<TomlFile> read_toml(const std::string& path);

}  // namespace kvasir::config

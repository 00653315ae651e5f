#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace kvasir::config {

// A variable of the process's environment; empty where it is not set. No other folder reads it.
std::string environment(const char* name);

// The same where set-but-empty differs from not set; tests give their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> process_environment(const std::string& name);

// Where the user's models and records are kept and the user's own files lie, as the XDG base directories have
// it: $XDG_CACHE_HOME or ~/.cache, $XDG_DATA_HOME or ~/.local/share, $XDG_CONFIG_HOME or ~/.config; under
// /tmp for a user without a home.
std::filesystem::path default_model_dir();
std::filesystem::path default_data_dir();
std::filesystem::path user_config_dir();

}  // namespace kvasir::config

#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace kvasir::config {

// A variable of the process's environment; empty if it is not set. No other folder reads the environment.
std::string environment(const char* name);

// As `environment`, but distinguishes an empty variable from one that is not set. Tests pass their own
// function.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> process_environment(const std::string& name);

// The folders for the user's models, records and configuration, as XDG defines them: $XDG_CACHE_HOME or
// ~/.cache, $XDG_DATA_HOME or ~/.local/share, $XDG_CONFIG_HOME or ~/.config. For a user without a home they
// are under /tmp.
std::filesystem::path default_model_dir();
std::filesystem::path default_data_dir();
std::filesystem::path user_config_dir();

}  // namespace kvasir::config

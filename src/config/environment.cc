#include "config/environment.h"

#include <unistd.h>

#include <cstdlib>

namespace kvasir::config {

namespace {

std::filesystem::path xdg_dir(const char* variable, const char* under_home) {
  // The XDG specification says to ignore relative paths.
  if (const std::filesystem::path named = environment(variable); named.is_absolute()) return named;
  if (const std::filesystem::path home = environment("HOME"); home.is_absolute()) return home / under_home;
  return std::filesystem::path("/tmp") / ("kvasir-" + std::to_string(::getuid())) / under_home;
}

}  // namespace

std::string environment(const char* name) {
  return process_environment(name).value_or("");
}

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::filesystem::path default_model_dir() {
  return xdg_dir("XDG_CACHE_HOME", ".cache") / "kvasir" / "models";
}

std::filesystem::path default_data_dir() {
  return xdg_dir("XDG_DATA_HOME", ".local/share") / "kvasir";
}

std::filesystem::path user_config_dir() {
  return xdg_dir("XDG_CONFIG_HOME", ".config") / "kvasir";
}

}  // namespace kvasir::config

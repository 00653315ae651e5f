#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"

namespace kvasir::config {

// What the environment variables that OpenTelemetry defines for all programs say of a setting. They are
// weaker than everything that names Kvasir's own settings.
struct OpenTelemetryValue {
  std::string variable;  // for errors
  std::vector<std::string> texts;
};
std::optional<OpenTelemetryValue> opentelemetry_value(std::string_view setting, const Environment& env);

}  // namespace kvasir::config

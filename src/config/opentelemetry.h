#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"

namespace kvasir::config {

// The value of a setting from the environment variables that OpenTelemetry defines for all programs. Kvasir's
// own variables, flags and file take precedence.
struct OpenTelemetryValue {
  std::string variable;  // its name, for errors
  std::vector<std::string> texts;
};
std::optional<OpenTelemetryValue> opentelemetry_value(std::string_view setting, const Environment& env);

}  // namespace kvasir::config

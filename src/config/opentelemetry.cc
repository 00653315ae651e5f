#include "config/opentelemetry.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace kvasir::config {
namespace {

using Value = std::optional<OpenTelemetryValue>;

Value first_of(const Environment& env, std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (auto text = env(variable); text && !text->empty()) return OpenTelemetryValue{variable, {*text}};
  return std::nullopt;
}

// Decodes percent escapes: "a%20b" becomes "a b".
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3;
    out += escaped ? static_cast<char>(byte) : text[i];
    if (escaped) i += 2;
  }
  return out;
}

Value headers_of(const Environment& env) {
  Value found = first_of(env, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"});
  if (!found) return found;
  std::string_view rest = found->texts.front();
  std::vector<std::string> pairs;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view pair = rest.substr(0, comma);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (!pair.empty()) pairs.push_back(percent_decoded(pair));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  found->texts = std::move(pairs);
  return found;
}

Value sample_rate_of(const Environment& env) {
  const std::string sampler = env("OTEL_TRACES_SAMPLER").value_or("");
  if (sampler.ends_with("always_off")) return OpenTelemetryValue{"OTEL_TRACES_SAMPLER", {"0"}};
  if (sampler.ends_with("always_on")) return OpenTelemetryValue{"OTEL_TRACES_SAMPLER", {"1"}};
  return first_of(env, {"OTEL_TRACES_SAMPLER_ARG"});
}

}  // namespace

Value opentelemetry_value(std::string_view setting, const Environment& env) {
  if (env("OTEL_SDK_DISABLED") == "true") return std::nullopt;
  if (setting == "otlp_endpoint")
    return first_of(env, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"});
  if (setting == "otlp_protocol")
    return first_of(env, {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"});
  if (setting == "otlp_service_name") return first_of(env, {"OTEL_SERVICE_NAME"});
  if (setting == "otlp_headers") return headers_of(env);
  if (setting == "trace_sample_rate") return sample_rate_of(env);
  return std::nullopt;
}

}  // namespace kvasir::config

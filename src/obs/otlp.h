#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "obs/trace.h"

// The bodies that OTLP over HTTP takes at /v1/traces.
namespace kvasir::obs {

// The program that the spans come from.
struct TraceSource {
  std::string service_name = "kvasir";
  std::string version;
  std::string instance;  // distinguishes servers with the same name
};

std::string otlp_json(const std::vector<FinishedTrace>& traces, const TraceSource& source);
std::string otlp_protobuf(const std::vector<FinishedTrace>& traces, const TraceSource& source);

// The attributes of `source`, by OpenTelemetry's names.
std::vector<Attribute> resource_attributes(const TraceSource& source);
inline constexpr std::string_view kTraceScope = "kvasir";

}  // namespace kvasir::obs

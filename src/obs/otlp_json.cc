#include "base/json.h"
#include "obs/otlp.h"

namespace kvasir::obs {

namespace json = boost::json;

namespace {

// OTLP's JSON writes 64-bit integers as text.
json::object otlp_value(const Attribute::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {{"intValue", std::to_string(*number)}};
  if (const auto* number = std::get_if<double>(&value)) return {{"doubleValue", *number}};
  if (const auto* flag = std::get_if<bool>(&value)) return {{"boolValue", *flag}};
  json::array values;
  for (const std::string& one : std::get<std::vector<std::string>>(value))
    values.push_back(json::object{{"stringValue", one}});
  return {{"arrayValue", json::object{{"values", std::move(values)}}}};
}

json::array otlp_attributes(const std::vector<Attribute>& attributes) {
  json::array all;
  for (const Attribute& one : attributes)
    all.push_back(json::object{{"key", json::string(one.key)}, {"value", otlp_value(one.value)}});
  return all;
}

std::string otlp_time(const FinishedTrace& trace, base::TimePoint time) {
  return std::to_string(time.time_since_epoch().count() + trace.steady_to_unix_ns);
}

json::object otlp_span(const FinishedTrace& trace, const Span& span) {
  json::object out{{"traceId", hex_of(trace.id)},
                   {"spanId", hex_of(span.id)},
                   {"name", span.name},
                   {"kind", static_cast<int>(span.kind)},
                   {"startTimeUnixNano", otlp_time(trace, span.start)},
                   {"endTimeUnixNano", otlp_time(trace, span.end)},
                   {"attributes", otlp_attributes(span.attributes)}};
  if (span.parent != 0) out["parentSpanId"] = hex_of(span.parent);
  if (!trace.state.empty()) out["traceState"] = trace.state;
  json::array events;
  for (const SpanEvent& event : span.events)
    events.push_back(json::object{{"timeUnixNano", otlp_time(trace, event.time)},
                                  {"name", json::string(event.name)},
                                  {"attributes", otlp_attributes(event.attributes)}});
  if (!events.empty()) out["events"] = std::move(events);
  if (span.failed) out["status"] = json::object{{"code", 2}};
  return out;
}

}  // namespace

std::vector<Attribute> resource_attributes(const TraceSource& source) {
  return {{"service.name", source.service_name},
          {"service.version", source.version},
          {"service.instance.id", source.instance},
          {"telemetry.sdk.language", std::string("cpp")},
          {"telemetry.sdk.name", std::string("kvasir")}};
}

std::string otlp_json(const std::vector<FinishedTrace>& traces, const TraceSource& source) {
  json::array spans;
  for (const FinishedTrace& trace : traces)
    for (const Span& span : trace.spans) spans.push_back(otlp_span(trace, span));
  json::object scope{
      {"scope", json::object{{"name", json::string(kTraceScope)}, {"version", source.version}}},
      {"spans", std::move(spans)}};
  json::object resource{
      {"resource", json::object{{"attributes", otlp_attributes(resource_attributes(source))}}},
      {"scopeSpans", json::array{std::move(scope)}}};
  return base::json_text(json::object{{"resourceSpans", json::array{std::move(resource)}}});
}

}  // namespace kvasir::obs

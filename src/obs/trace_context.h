#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvasir::obs {

using TraceId = std::array<std::uint8_t, 16>;

// The trace and the span that a request belongs to, as W3C's Trace Context defines them.
struct TraceContext {
  TraceId trace_id{};         // never all zero
  std::uint64_t span_id = 0;  // never zero
  bool sampled = false;
  std::string state;  // the header tracestate, passed on without being parsed; may be empty
};

// The two headers that pass a trace on to the next server.
struct TraceHeaders {
  TraceHeaders() = default;
  explicit TraceHeaders(const TraceContext& context);

  std::string traceparent;  // empty: there is no trace
  std::string tracestate;   // empty: there is no such header
};

// Parses both headers. A traceparent that violates the standard counts as missing. A tracestate that is too
// long or has invalid characters is left out.
std::optional<TraceContext> parse_trace_context(std::string_view traceparent, std::string_view tracestate);

TraceId random_trace_id();
std::uint64_t random_span_id();

std::string hex_of(const TraceId& id);
std::string hex_of(std::uint64_t span_id);

}  // namespace kvasir::obs

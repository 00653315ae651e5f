#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvasir::obs {

using TraceId = std::array<std::uint8_t, 16>;

// The place in a trace that a request comes from or goes out with, as W3C's Trace Context defines it.
struct TraceContext {
  TraceId trace_id{};         // never all zero
  std::uint64_t span_id = 0;  // never zero
  bool sampled = false;
  std::string state;  // the header tracestate, which is passed on unread; may be empty
};

// The two headers that tell the next server of a trace.
struct TraceHeaders {
  TraceHeaders() = default;
  explicit TraceHeaders(const TraceContext& context);

  std::string traceparent;  // empty: there is no trace
  std::string tracestate;   // empty: there is no such header
};

// Reads both headers. A traceparent that is not as the standard says counts as none, and a tracestate that is
// too long or has odd characters is left out.
std::optional<TraceContext> parse_trace_context(std::string_view traceparent, std::string_view tracestate);

TraceId random_trace_id();
std::uint64_t random_span_id();

std::string hex_of(const TraceId& id);
std::string hex_of(std::uint64_t span_id);

}  // namespace kvasir::obs

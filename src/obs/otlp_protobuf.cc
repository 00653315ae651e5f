#include <bit>

#include "obs/otlp.h"

namespace kvasir::obs {
namespace {

// Writes one protobuf message, field by field. The field numbers are those of opentelemetry/proto/trace/v1.
class Message {
 public:
  void varint(int field, std::uint64_t value) {
    tag(field, 0);
    raw_varint(value);
  }
  void fixed64(int field, std::uint64_t value) {
    tag(field, 1);
    for (int shift = 0; shift < 64; shift += 8) text_ += static_cast<char>(value >> shift & 0xff);
  }
  void bytes(int field, std::string_view value) {
    tag(field, 2);
    raw_varint(value.size());
    text_ += value;
  }
  void message(int field, const Message& value) { bytes(field, value.text_); }
  std::string take() { return std::move(text_); }

 private:
  void tag(int field, int type) {
    raw_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<unsigned>(type));
  }
  void raw_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

std::string big_endian(std::uint64_t id) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(id >> shift & 0xff);
  return bytes;
}

Message any_value(const Attribute::Value& value) {
  Message out;
  if (const auto* text = std::get_if<std::string>(&value)) {
    out.bytes(1, *text);
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    out.varint(2, *flag ? 1 : 0);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.varint(3, static_cast<std::uint64_t>(*number));
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.fixed64(4, std::bit_cast<std::uint64_t>(*real));
  } else {
    Message array;
    for (const std::string& one : std::get<std::vector<std::string>>(value)) array.message(1, any_value(one));
    out.message(5, array);
  }
  return out;
}

void add_attributes(Message& out, int field, const std::vector<Attribute>& attributes) {
  for (const Attribute& one : attributes) {
    Message pair;
    pair.bytes(1, one.key);
    pair.message(2, any_value(one.value));
    out.message(field, pair);
  }
}

std::uint64_t unix_time(const FinishedTrace& trace, base::TimePoint time) {
  return static_cast<std::uint64_t>(time.time_since_epoch().count() + trace.steady_to_unix_ns);
}

Message event_message(const FinishedTrace& trace, const SpanEvent& event) {
  Message out;
  out.fixed64(1, unix_time(trace, event.time));
  out.bytes(2, event.name);
  add_attributes(out, 3, event.attributes);
  return out;
}

Message span_message(const FinishedTrace& trace, const Span& span) {
  Message out;
  out.bytes(1, std::string_view(reinterpret_cast<const char*>(trace.id.data()), trace.id.size()));
  out.bytes(2, big_endian(span.id));
  if (!trace.state.empty()) out.bytes(3, trace.state);
  if (span.parent != 0) out.bytes(4, big_endian(span.parent));
  out.bytes(5, span.name);
  out.varint(6, static_cast<std::uint64_t>(span.kind));
  out.fixed64(7, unix_time(trace, span.start));
  out.fixed64(8, unix_time(trace, span.end));
  add_attributes(out, 9, span.attributes);
  for (const SpanEvent& event : span.events) out.message(11, event_message(trace, event));
  if (span.failed) {
    Message status;
    status.varint(3, 2);
    out.message(15, status);
  }
  return out;
}

}  // namespace

std::string otlp_protobuf(const std::vector<FinishedTrace>& traces, const TraceSource& source) {
  Message scope;
  scope.bytes(1, kTraceScope);
  scope.bytes(2, source.version);
  Message scope_spans;
  scope_spans.message(1, scope);
  for (const FinishedTrace& trace : traces)
    for (const Span& span : trace.spans) scope_spans.message(2, span_message(trace, span));
  Message resource;
  add_attributes(resource, 1, resource_attributes(source));
  Message resource_spans;
  resource_spans.message(1, resource);
  resource_spans.message(2, scope_spans);
  Message request;
  request.message(1, resource_spans);
  return request.take();
}

}  // namespace kvasir::obs

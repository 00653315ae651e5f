#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "obs/trace_context.h"

namespace kvasir::obs {

class Tracer;

// A fact about a span. Keys are literals: OpenTelemetry's names if it defines one, otherwise names that begin
// with "kvasir.".
struct Attribute {
  using Value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;
  std::string_view key;
  Value value;
};

// An event at one moment of a span.
struct SpanEvent {
  std::string_view name;
  base::TimePoint time;
  std::vector<Attribute> attributes;
};

enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3 };

// One part of a request, with its beginning and end.
struct Span {
  std::string name;
  SpanKind kind = SpanKind::internal;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;  // 0: none
  base::TimePoint start;
  base::TimePoint end;
  bool failed = false;
  std::vector<Attribute> attributes = {};
  std::vector<SpanEvent> events = {};
};

// The spans of a request that has ended. The first is the root.
struct FinishedTrace {
  TraceId id{};
  std::string state;
  std::vector<Span> spans;
  std::int64_t steady_to_unix_ns = 0;  // the offset from a span's times to Unix time
};

// The spans and ids of one request while it runs. Shared by everything that works on the request, on the
// request's executor. When the last owner is gone, the spans go to the tracer if the trace was sampled or
// turned out to be remarkable.
class Trace {
 public:
  // The index of a span in its trace. `kNone` is a span that is not recorded; calls with it do nothing.
  using Index = std::size_t;
  static constexpr Index kRoot = 0;
  static constexpr Index kNone = static_cast<Index>(-1);
  // Spans beyond this number are counted but not recorded.
  static constexpr std::size_t kMaxSpans = 256;

  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // 32 hexadecimal digits.
  const std::string& id() const { return id_; }
  // The headers for a request to a server that does a part of this request. `parent` is the parent of its
  // spans.
  TraceHeaders headers(Index parent = kRoot) const;
  bool records() const { return records_; }

  Index begin(std::string name, Index parent = kRoot);
  void end(Index span);
  // A span whose times are known already.
  Index add(std::string name, base::TimePoint start, base::TimePoint end, Index parent = kRoot);
  void set_kind(Index span, SpanKind kind);
  void set_start(Index span, base::TimePoint start);
  void rename(Index span, std::string name);
  template <class T>
  void note(Index span, std::string_view key, const T& value) {
    if (records_) set(span, key, value_of(value));
  }
  void event(Index span, std::string_view name, base::TimePoint time, std::vector<Attribute> attributes = {});
  // Marks the span as failed; `type` is the error's code.
  void fail(Index span, std::string_view type);

  // Keeps the trace even if it was not sampled.
  void keep() { remarkable_ = true; }

 private:
  friend class Tracer;
  Trace(Tracer& tracer, std::string name, const std::optional<TraceContext>& parent, bool records);
  template <class T>
  static Attribute::Value value_of(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      return std::string(std::string_view(value));
    } else {
      return value;
    }
  }
  void set(Index span, std::string_view key, Attribute::Value value);
  Span* find(Index span) { return span < spans_.size() ? &spans_[span] : nullptr; }

  Tracer& tracer_;
  TraceContext context_;  // its span_id is the root's
  std::string id_;
  bool records_;
  bool remarkable_ = false;
  std::size_t num_left_out_ = 0;
  std::int64_t steady_to_unix_ns_ = 0;
  std::vector<Span> spans_;
};

// A span that lasts as long as this object, or until `end`.
class SpanScope {
 public:
  SpanScope(Trace& trace, std::string name, Trace::Index parent = Trace::kRoot)
      : trace_(trace), index_(trace.records() ? trace.begin(std::move(name), parent) : Trace::kNone) {}
  ~SpanScope() { end(); }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

  Trace::Index index() const { return index_; }
  template <class T>
  void note(std::string_view key, const T& value) {
    trace_.note(index_, key, value);
  }
  void fail(std::string_view type) { trace_.fail(index_, type); }
  void end() {
    if (!ended_) trace_.end(index_);
    ended_ = true;
  }

 private:
  Trace& trace_;
  const Trace::Index index_;
  bool ended_ = false;
};

}  // namespace kvasir::obs

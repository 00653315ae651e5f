#include "obs/trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "obs/tracer.h"

namespace kvasir::obs {
namespace {

// Enough for a request that uses no tools.
constexpr std::size_t kUsualSpans = 12;
constexpr std::size_t kUsualAttributes = 12;

std::int64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

Trace::Trace(Tracer& tracer, std::string name, const std::optional<TraceContext>& parent, bool records)
    : tracer_(tracer), records_(records) {
  context_.trace_id = parent ? parent->trace_id : random_trace_id();
  context_.span_id = random_span_id();
  if (parent) context_.state = parent->state;
  context_.sampled = parent ? parent->sampled : tracer.samples(context_.trace_id);
  id_ = hex_of(context_.trace_id);
  if (!records_) return;
  const base::TimePoint now = tracer_.clock().now();
  steady_to_unix_ns_ = unix_ns() - now.time_since_epoch().count();
  spans_.reserve(kUsualSpans);
  spans_.push_back({.name = std::move(name),
                    .id = context_.span_id,
                    .parent = parent ? parent->span_id : 0,
                    .start = now,
                    .end = {}});
  spans_.front().attributes.reserve(kUsualAttributes);
}

Trace::~Trace() {
  if (!records_ || !(context_.sampled || remarkable_)) return;
  // Spans that were not ended were cut off when the request ended.
  Span& root = spans_.front();
  if (root.end == base::TimePoint{}) root.end = tracer_.clock().now();
  for (Span& span : spans_)
    if (span.end == base::TimePoint{}) span.end = std::max(span.start, root.end);
  if (num_left_out_ > 0) note(kRoot, "kvasir.spans_left_out", num_left_out_);
  tracer_.take({context_.trace_id, std::move(context_.state), std::move(spans_), steady_to_unix_ns_});
}

TraceHeaders Trace::headers(Index parent) const {
  TraceContext context = context_;
  if (parent < spans_.size()) context.span_id = spans_[parent].id;
  return TraceHeaders(context);
}

Trace::Index Trace::begin(std::string name, Index parent) {
  return records_ ? add(std::move(name), tracer_.clock().now(), {}, parent) : kNone;
}

Trace::Index Trace::add(std::string name, base::TimePoint start, base::TimePoint end, Index parent) {
  if (!records_) return kNone;
  if (spans_.size() >= kMaxSpans) {
    ++num_left_out_;
    return kNone;
  }
  const Span* const above = find(parent);
  spans_.push_back({.name = std::move(name),
                    .id = random_span_id(),
                    .parent = above != nullptr ? above->id : context_.span_id,
                    .start = start,
                    .end = end});
  return spans_.size() - 1;
}

void Trace::end(Index span) {
  if (Span* const one = find(span)) one->end = tracer_.clock().now();
}

void Trace::set_kind(Index span, SpanKind kind) {
  if (Span* const one = find(span)) one->kind = kind;
}

void Trace::set_start(Index span, base::TimePoint start) {
  if (Span* const one = find(span)) one->start = start;
}

void Trace::rename(Index span, std::string name) {
  if (Span* const one = find(span)) one->name = std::move(name);
}

void Trace::set(Index span, std::string_view key, Attribute::Value value) {
  if (Span* const one = find(span)) one->attributes.push_back({key, std::move(value)});
}

void Trace::event(Index span, std::string_view name, base::TimePoint time,
                  std::vector<Attribute> attributes) {
  if (Span* const one = find(span)) one->events.push_back({name, time, std::move(attributes)});
}

void Trace::fail(Index span, std::string_view type) {
  note(span, "error.type", type);
  if (Span* const one = find(span)) one->failed = true;
}

}  // namespace kvasir::obs

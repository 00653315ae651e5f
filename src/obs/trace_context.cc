#include "obs/trace_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/random_bytes.h"

namespace kvasir::obs {
namespace {

// The length of "00-" and the three fields of version 00 with their dashes.
constexpr std::size_t kTraceparentLength = 55;
constexpr std::size_t kMaxStateLength = 512;

// The standard does not allow upper case.
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool read_hex(std::string_view text, std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

bool is_state(std::string_view text) {
  return text.size() <= kMaxStateLength &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::size_t at = out.size();
  out.resize(at + 2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    out[at++] = kDigits[byte >> 4];
    out[at++] = kDigits[byte & 15];
  }
}

std::array<std::uint8_t, 8> bytes_of(std::uint64_t number) {
  std::array<std::uint8_t, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
  return bytes;
}

std::string traceparent_of(const TraceContext& context) {
  std::string text;
  text.reserve(kTraceparentLength);
  text += "00-";
  append_hex(text, context.trace_id);
  text += '-';
  append_hex(text, bytes_of(context.span_id));
  text += context.sampled ? "-01" : "-00";
  return text;
}

}  // namespace

std::optional<TraceContext> parse_trace_context(std::string_view traceparent, std::string_view tracestate) {
  if (traceparent.size() < kTraceparentLength) return std::nullopt;
  const auto is_dash = [&](std::size_t at) { return traceparent[at] == '-'; };
  if (!is_dash(2) || !is_dash(35) || !is_dash(52)) return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 8> span{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  if (!read_hex(traceparent.substr(0, 2), version) ||
      !read_hex(traceparent.substr(3, 32), context.trace_id) || !read_hex(traceparent.substr(36, 16), span) ||
      !read_hex(traceparent.substr(53, 2), flags))
    return std::nullopt;
  // Later versions may add fields after the known ones.
  const bool longer = traceparent.size() > kTraceparentLength;
  if (version[0] == 0xff || (longer && (version[0] == 0 || !is_dash(kTraceparentLength))))
    return std::nullopt;
  if (is_zero(context.trace_id) || is_zero(span)) return std::nullopt;
  for (const std::uint8_t byte : span) context.span_id = context.span_id << 8 | byte;
  context.sampled = (flags[0] & 1) != 0;
  if (is_state(tracestate)) context.state = tracestate;
  return context;
}

TraceHeaders::TraceHeaders(const TraceContext& context)
    : traceparent(traceparent_of(context)), tracestate(context.state) {}

TraceId random_trace_id() {
  TraceId id{};
  while (is_zero(id)) base::fill_random(std::as_writable_bytes(std::span(id)));
  return id;
}

std::uint64_t random_span_id() {
  std::uint64_t id = 0;
  while (id == 0) id = base::random_uint64();
  return id;
}

std::string hex_of(const TraceId& id) {
  std::string text;
  append_hex(text, id);
  return text;
}

std::string hex_of(std::uint64_t span_id) {
  std::string text;
  append_hex(text, bytes_of(span_id));
  return text;
}

}  // namespace kvasir::obs

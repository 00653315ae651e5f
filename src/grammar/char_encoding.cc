#include "grammar/char_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace kvasir::grammar {
namespace {

using Bytes = std::array<std::uint8_t, 4>;

int encode(std::uint32_t c, Bytes& out) {
  if (c < 0x80) {
    out[0] = static_cast<std::uint8_t>(c);
    return 1;
  }
  const int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  constexpr std::array<std::uint8_t, 5> kLead{0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = length - 1; i > 0; --i, c >>= 6) out[i] = static_cast<std::uint8_t>(0x80 | (c & 0x3F));
  out[0] = static_cast<std::uint8_t>(kLead[length] | c);
  return length;
}

// All encodings between `first` and `last`, which are equally long, from byte `at` on, as a tree of byte
// ranges.
NodeId between(Grammar& g, const Bytes& first, const Bytes& last, int at, int length) {
  const NodeId here = g.bytes(ByteSet::range(first[at], last[at]));
  if (at + 1 == length) return here;
  const auto is_edge = [&](const Bytes& bytes, std::uint8_t value) {
    return std::all_of(bytes.begin() + at + 1, bytes.begin() + length, [&](auto b) { return b == value; });
  };
  const bool low_edge = is_edge(first, 0x80);
  const bool high_edge = is_edge(last, 0xBF);
  if (first[at] == last[at] || (low_edge && high_edge)) {
    return g.sequence({here, between(g, first, last, at + 1, length)});
  }
  Bytes lowest = first;
  Bytes highest = last;
  std::fill(lowest.begin() + at + 1, lowest.begin() + length, std::uint8_t{0x80});
  std::fill(highest.begin() + at + 1, highest.begin() + length, std::uint8_t{0xBF});
  std::vector<NodeId> parts;
  int from = first[at];
  int to = last[at];
  const auto one = [&](int lead, const Bytes& a, const Bytes& b) {
    const NodeId byte =
        g.bytes(ByteSet::range(static_cast<std::uint8_t>(lead), static_cast<std::uint8_t>(lead)));
    parts.push_back(g.sequence({byte, between(g, a, b, at + 1, length)}));
  };
  if (!low_edge) one(from++, first, highest);
  if (!high_edge) one(to--, lowest, last);
  if (from <= to) {
    const NodeId byte =
        g.bytes(ByteSet::range(static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)));
    parts.push_back(g.sequence({byte, between(g, lowest, highest, at + 1, length)}));
  }
  return g.choice(std::move(parts));
}

NodeId utf8_node(Grammar& g, const CodepointSet& set) {
  constexpr std::array<std::uint32_t, 4> kEnds{0x7F, 0x7FF, 0xFFFF, CodepointSet::kLast};
  ByteSet ascii;
  std::vector<NodeId> parts;
  for (const auto& range : set.ranges()) {
    std::uint32_t first = range.first;
    for (const std::uint32_t end : kEnds) {
      if (first > range.last) break;
      if (first > end) continue;
      const std::uint32_t last = std::min(range.last, end);
      Bytes a{};
      Bytes b{};
      const int length = encode(first, a);
      encode(last, b);
      if (length == 1) {
        ascii |= ByteSet::range(a[0], b[0]);
      } else {
        parts.push_back(between(g, a, b, 0, length));
      }
      first = last + 1;
    }
  }
  if (!ascii.empty()) parts.push_back(g.bytes(ascii));
  return g.choice(std::move(parts));
}

constexpr std::string_view kShortEscapes = "\"\\\b\f\n\r\t";
constexpr std::string_view kShortLetters = "\"\\bfnrt";

std::string escape_of(std::uint32_t c) {
  const std::size_t i = kShortEscapes.find(static_cast<char>(c));
  if (i != std::string_view::npos) return {'\\', kShortLetters[i]};
  return fmt::format("\\u{:04x}", c);
}

bool needs_escape(std::uint32_t c) {
  return c < 0x20 || c == '"' || c == '\\';
}

}  // namespace

NodeId compact_char_node(Grammar& g, const CodepointSet& set) {
  const CodepointSet others(0x80, CodepointSet::kLast);
  const CodepointSet controls(0, 0x1F);
  std::vector<NodeId> parts;
  CodepointSet rest = set;
  const auto take = [&](const CodepointSet& part, const char* name) {
    if (rest.intersect(part) != part) return;
    rest = rest.minus(part);
    const auto body = [&] { return char_node(g, part, CharEncoding::json); };
    parts.push_back(g.reference(g.shared_rule(name, body)));
  };
  take(others, "json characters over 0x7F");
  take(controls, "json control characters");
  if (!rest.empty()) parts.push_back(char_node(g, rest, CharEncoding::json));
  return g.choice(std::move(parts));
}

NodeId char_node(Grammar& grammar, const CodepointSet& set, CharEncoding encoding) {
  if (encoding == CharEncoding::plain) return utf8_node(grammar, set);
  CodepointSet escaped(0, 0x1F);
  escaped.add('"', '"');
  escaped.add('\\', '\\');
  std::vector<NodeId> parts;
  if (const CodepointSet raw = set.minus(escaped); !raw.empty()) parts.push_back(utf8_node(grammar, raw));
  const CodepointSet rest = set.intersect(escaped);
  for (const auto& range : rest.ranges()) {
    for (std::uint32_t c = range.first; c <= range.last; ++c) parts.push_back(grammar.literal(escape_of(c)));
  }
  return grammar.choice(std::move(parts));
}

NodeId json_any_char(Grammar& g) {
  CodepointSet raw(0x20, CodepointSet::kLast);
  CodepointSet escaped('"', '"');
  escaped.add('\\', '\\');
  const auto digits = [&](std::string_view allowed) {
    ByteSet set;
    for (const char c : allowed) set.add(static_cast<std::uint8_t>(c));
    return g.bytes(set);
  };
  const NodeId hex = digits("0123456789abcdefABCDEF");
  const NodeId d = digits("dD");
  const NodeId plain = g.choice({g.sequence({digits("0123456789abcefABCEF"), hex, hex, hex}),
                                 g.sequence({d, digits("01234567"), hex, hex})});
  const NodeId pair =
      g.sequence({d, digits("89abAB"), hex, hex, g.literal("\\u"), d, digits("cdefCDEF"), hex, hex});
  const NodeId code = g.sequence({g.literal("u"), g.choice({plain, pair})});
  const NodeId escape = g.sequence({g.literal("\\"), g.choice({digits("\"\\/bfnrt"), code})});
  return g.choice({utf8_node(g, raw.minus(escaped)), escape});
}

void append_utf8(std::string& out, std::uint32_t codepoint) {
  Bytes bytes{};
  const int length = encode(codepoint, bytes);
  out.append(bytes.begin(), bytes.begin() + length);
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<std::uint8_t>(text[i]);
    const int length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || i + length > text.size()) return std::nullopt;
    std::uint32_t c = length == 1 ? lead : lead & (0x7F >> length);
    for (int k = 1; k < length; ++k) {
      const auto byte = static_cast<std::uint8_t>(text[i + k]);
      if ((byte & 0xC0) != 0x80) return std::nullopt;
      c = (c << 6) | (byte & 0x3F);
    }
    Bytes again{};
    if (c > CodepointSet::kLast || (c >= 0xD800 && c <= 0xDFFF) || encode(c, again) != length) {
      return std::nullopt;
    }
    out.push_back(c);
    i += length;
  }
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (needs_escape(byte)) {
      out += escape_of(byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace kvasir::grammar

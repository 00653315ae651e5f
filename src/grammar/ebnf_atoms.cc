#include <algorithm>
#include <utility>

#include "grammar/ebnf_parser.h"

// The small parts of EBNF: quantifiers, literals, character classes, regular expressions.
namespace kvasir::grammar {
namespace {

constexpr std::uint32_t kMaxCount = 1'000'000;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

base::Result<std::uint32_t> EbnfParser::parse_number() {
  std::uint32_t value = 0;
  if (peek() < '0' || peek() > '9') return wrong("a number was expected");
  for (; peek() >= '0' && peek() <= '9'; ++at_) {
    value = std::min(kMaxCount + 1, value * 10 + static_cast<std::uint32_t>(peek() - '0'));
  }
  skip_space();
  if (value > kMaxCount)
    return base::error(base::ErrorCode::too_large, "a count over {} in a grammar", kMaxCount);
  return value;
}

base::Result<std::optional<EbnfParser::Bounds>> EbnfParser::parse_quantifier() {
  if (take("*")) return std::optional(Bounds{0, kUnbounded});
  if (take("+")) return std::optional(Bounds{1, kUnbounded});
  if (peek() == '?' && !at_rule_start()) {
    take("?");
    return std::optional(Bounds{0, 1});
  }
  Bounds bounds{0, kUnbounded};
  if (dialect_ == Dialect::lark && take("~")) {
    TRY(bounds.min, parse_number());
    bounds.max = bounds.min;
    if (take("..")) {
      TRY(bounds.max, parse_number());
    }
  } else if (dialect_ == Dialect::gbnf && take("{")) {
    const bool from_zero = peek() == ',';
    if (!from_zero) {
      TRY(bounds.min, parse_number());
    }
    bounds.max = bounds.min;
    if (take(",")) {
      bounds.max = kUnbounded;
      if (peek() != '}') {
        TRY(bounds.max, parse_number());
      }
    }
    if (!take("}")) return wrong("a '{' without its '}'");
  } else {
    return std::optional<Bounds>();
  }
  if (bounds.min > bounds.max) return wrong("a range of counts that is empty");
  return std::optional(bounds);
}

NodeId EbnfParser::terminal(NodeId node) {
  if (dialect_ == Dialect::gbnf || in_terminal_) return node;
  return g_.sequence({node, g_.reference(*ignored_)});
}

base::Result<NodeId> EbnfParser::parse_atom() {
  const char c = peek();
  if (c == '(') {
    if (text_.substr(at_).starts_with("(=")) return unsupported("lookahead (=");
    take("(");
    TRY(const NodeId inner, parse_choice());
    if (!take(")")) return wrong("a '(' without its ')'");
    return inner;
  }
  if (c == '"') return parse_string();
  if (c == '[' && dialect_ == Dialect::lark) {
    take("[");
    TRY(const NodeId inner, parse_choice());
    if (!take("]")) return wrong("a '[' without its ']'");
    return g_.optional(inner);
  }
  if (c == '[') return parse_char_class();
  if (c == '/' && dialect_ == Dialect::lark) return parse_pattern();
  if (c == '.' && dialect_ == Dialect::gbnf) {
    take(".");
    return chars(CodepointSet::all());
  }
  const std::string name(peek_name());
  if (name.empty()) return wrong(fmt::format("an unexpected '{}'", c));
  at_ += name.size();
  if (peek() == '{' && dialect_ == Dialect::lark) return unsupported("rule templates");
  const bool is_upper = std::ranges::none_of(name, [](char n) { return n >= 'a' && n <= 'z'; });
  const NodeId node = g_.reference(rule_named(name));
  skip_space();
  return dialect_ == Dialect::lark && is_upper ? terminal(node) : node;
}

base::Result<char32_t> EbnfParser::parse_escape() {
  const char c = peek();
  ++at_;
  std::size_t num_digits = 0;
  switch (c) {
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'f':
      return U'\f';
    case 'b':
      return U'\b';
    case 'x':
      num_digits = 2;
      break;
    case 'u':
      num_digits = 4;
      break;
    case 'U':
      num_digits = 8;
      break;
    default:
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '\0') {
        return wrong("an unknown escape");
      }
      return static_cast<char32_t>(c);
  }
  char32_t code = 0;
  for (; num_digits > 0; --num_digits, ++at_) {
    if (hex_value(peek()) < 0) return wrong("an escape with too few hexadecimal digits");
    code = code * 16 + static_cast<char32_t>(hex_value(peek()));
  }
  if (code > CodepointSet::kLast || (code >= 0xD800 && code <= 0xDFFF)) return wrong("no such character");
  return code;
}

// Begins after the opening quote and takes the closing one.
base::Result<std::u32string> EbnfParser::parse_quoted() {
  std::u32string out;
  std::string raw;
  const auto flush = [&]() -> base::Status {
    const auto chars = decode_utf8(raw);
    if (!chars) return wrong("text that is not UTF-8");
    out += *chars;
    raw.clear();
    return base::ok();
  };
  while (!done() && peek() != '"') {
    if (peek() == '\n') return wrong("a string without its end");
    if (peek() == '\\') {
      ++at_;
      TRY_OK(flush());
      TRY(const char32_t c, parse_escape());
      out += c;
    } else {
      raw += text_[at_++];
    }
  }
  TRY_OK(flush());
  if (done()) return wrong("a string without its end");
  ++at_;
  return out;
}

base::Result<NodeId> EbnfParser::parse_string() {
  ++at_;
  TRY(const std::u32string text, parse_quoted());
  const bool any_case = peek() == 'i' && dialect_ == Dialect::lark;
  if (any_case) ++at_;
  skip_space();
  if (dialect_ == Dialect::lark && take("..")) {  // "a".."z"
    if (peek() != '"') return wrong("a range without its end");
    ++at_;
    TRY(const std::u32string last, parse_quoted());
    skip_space();
    if (text.size() != 1 || last.size() != 1 || text[0] > last[0]) return wrong("a range that is none");
    return terminal(chars({text[0], last[0]}));
  }
  std::string bytes;
  std::vector<NodeId> parts;
  for (const char32_t c : text) {
    const char32_t lower = c | 0x20;
    if (!any_case || lower < 'a' || lower > 'z' || c > 0x7F) {
      append_utf8(bytes, c);
      continue;
    }
    if (!bytes.empty()) parts.push_back(literal(std::exchange(bytes, {})));
    CodepointSet both(lower, lower);
    both.add(lower - 0x20, lower - 0x20);
    parts.push_back(chars(both));
  }
  if (!bytes.empty()) parts.push_back(literal(bytes));
  return terminal(g_.sequence(std::move(parts)));
}

NodeId EbnfParser::literal(std::string_view utf8) {
  if (encoding_ == CharEncoding::plain) return g_.literal(utf8);
  const std::string quoted = json_quoted(utf8);
  return g_.literal(std::string_view(quoted).substr(1, quoted.size() - 2));
}

base::Result<RegexFlags> EbnfParser::parse_flags() {
  RegexFlags flags;
  for (; peek() >= 'a' && peek() <= 'z'; ++at_) {
    const char flag = peek();
    if (flag == 'i')
      flags.any_case = true;
    else if (flag == 's')
      flags.dot_takes_all = true;
    else if (flag != 'u')
      return unsupported(fmt::format("the flag '{}' of an expression", flag));
  }
  return flags;
}

base::Result<NodeId> EbnfParser::parse_pattern() {
  ++at_;
  std::string pattern;
  while (!done() && peek() != '/') {
    if (peek() == '\n') break;
    if (peek() == '\\' && at_ + 1 < text_.size()) {
      if (text_[at_ + 1] != '/') pattern += '\\';
      ++at_;
    }
    pattern += text_[at_++];
  }
  if (done() || peek() != '/') return wrong("an expression without its '/'");
  ++at_;
  TRY(const RegexFlags flags, parse_flags());
  skip_space();
  auto regex = parse_regex(pattern, RegexExtent::whole, flags);
  if (!regex.ok()) {
    base::Error error = std::move(regex).error();
    error.message += fmt::format(" (line {})", line_);
    return error;
  }
  return terminal(regex_node(g_, *regex, encoding_));
}

base::Result<NodeId> EbnfParser::parse_char_class() {
  ++at_;
  const bool negated = peek() == '^';
  if (negated) ++at_;
  CodepointSet set;
  const auto member = [&]() -> base::Result<char32_t> {
    if (peek() == '\\') {
      ++at_;
      return parse_escape();
    }
    const auto lead = static_cast<std::uint8_t>(peek());
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    const auto chars = decode_utf8(text_.substr(at_, length));
    if (!chars || chars->size() != 1) return wrong("text that is not UTF-8");
    at_ += length;
    return (*chars)[0];
  };
  while (!done() && peek() != ']' && peek() != '\n') {
    TRY(const char32_t first, member());
    char32_t last = first;
    if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
      ++at_;
      TRY(last, member());
    }
    if (first > last) return wrong("a range of characters that is empty");
    set.add(first, last);
  }
  if (peek() != ']') return wrong("a '[' without its ']'");
  ++at_;
  skip_space();
  return chars(negated ? set.complement() : set);
}

}  // namespace kvasir::grammar

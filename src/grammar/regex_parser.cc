#include "grammar/regex_parser.h"

#include <algorithm>
#include <tuple>

namespace kvasir::grammar {
namespace {

constexpr int kMaxRegexDepth = 100;
constexpr std::uint32_t kMaxCount = 1'000'000;

CodepointSet digits() {
  return {'0', '9'};
}
CodepointSet word_chars() {
  CodepointSet set = digits();
  set.add('a', 'z');
  set.add('A', 'Z');
  set.add('_', '_');
  return set;
}
CodepointSet spaces() {
  CodepointSet set('\t', '\r');
  for (const std::uint32_t c : {0x20, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF})
    set.add(c, c);
  set.add(0x2000, 0x200A);
  return set;
}
CodepointSet line_ends() {
  CodepointSet set('\n', '\n');
  set.add('\r', '\r');
  set.add(0x2028, 0x2029);
  return set;
}

}  // namespace

base::Error RegexParser::wrong(std::string_view what) const {
  return base::error(base::ErrorCode::invalid_argument,
                     "not a valid regular expression: {} (at character {})", what, at_);
}

base::Error RegexParser::unsupported(std::string_view what) const {
  return base::error(base::ErrorCode::unsupported,
                     "regular expressions with {} are not supported (at character {})", what, at_);
}

RegexParser::Node RegexParser::add(Regex::Node node) {
  out_.nodes.push_back(std::move(node));
  return static_cast<Node>(out_.nodes.size() - 1);
}

CodepointSet RegexParser::folded(CodepointSet set) const {
  if (!flags_.any_case) return set;
  for (char32_t lower = U'a'; lower <= U'z'; ++lower) {
    const char32_t upper = lower - 0x20;
    const bool has_either = !set.intersect({lower, lower}).empty() || !set.intersect({upper, upper}).empty();
    if (!has_either) continue;
    set.add(lower, lower);
    set.add(upper, upper);
  }
  return set;
}

base::Result<std::uint32_t> RegexParser::parse() {
  TRY(const Node root, parse_choice());
  if (!done()) return wrong("an unmatched ')'");
  return root;
}

base::Result<RegexParser::Node> RegexParser::parse_choice() {
  if (++depth_ > kMaxRegexDepth) {
    return base::error(base::ErrorCode::too_large, "the regular expression is nested deeper than {}",
                       kMaxRegexDepth);
  }
  std::vector<Node> alternatives;
  do {
    TRY(const Node alternative, parse_sequence());
    alternatives.push_back(alternative);
  } while (take('|'));
  --depth_;
  if (alternatives.size() == 1) return alternatives[0];
  return add({.kind = Regex::Kind::choice, .children = std::move(alternatives)});
}

base::Result<RegexParser::Node> RegexParser::parse_sequence() {
  std::vector<Node> parts;
  while (!done() && peek() != '|' && peek() != ')') {
    TRY(const Node atom, parse_atom());
    TRY(const Node part, parse_quantifiers(atom));
    parts.push_back(part);
  }
  if (parts.size() == 1) return parts[0];
  return add({.kind = Regex::Kind::sequence, .children = std::move(parts)});
}

base::Result<RegexParser::Node> RegexParser::parse_atom() {
  switch (peek()) {
    case '(':
      ++at_;
      return parse_group();
    case '[':
      ++at_;
      return parse_class();
    case '.':
      ++at_;
      return add_chars(flags_.dot_takes_all ? CodepointSet::all() : line_ends().complement());
    case '^':
      ++at_;
      return add({.kind = Regex::Kind::begin});
    case '$':
      ++at_;
      return add({.kind = Regex::Kind::end});
    case '*':
    case '+':
    case '?':
      return wrong("a quantifier with nothing before it");
    case '\\': {
      ++at_;
      const bool is_class = peek() == 'D' || peek() == 'W' || peek() == 'S';
      TRY(CodepointSet set, parse_escape());
      return add_chars(is_class ? std::move(set) : folded(std::move(set)));
    }
    default:
      const char32_t c = text_[at_++];
      return add_chars(folded({c, c}));
  }
}

base::Result<RegexParser::Node> RegexParser::parse_group() {
  if (take('?')) {
    if (looking_at(U"=") || looking_at(U"!")) return unsupported("lookahead (?= or (?!");
    if (looking_at(U"<=") || looking_at(U"<!")) return unsupported("lookbehind (?<= or (?<!");
    if (take('<') || looking_at(U"P<")) {
      while (!done() && peek() != '>') ++at_;
      if (!take('>')) return wrong("a group name without its '>'");
    } else if (!take(':')) {
      return unsupported("inline flags (?");
    }
  }
  TRY(const Node inner, parse_choice());
  if (!take(')')) return wrong("a '(' without its ')'");
  return inner;
}

base::Result<RegexParser::Node> RegexParser::parse_quantifiers(Node atom) {
  std::uint32_t min = 0;
  std::uint32_t max = kUnbounded;
  if (take('*')) {
  } else if (take('+')) {
    min = 1;
  } else if (take('?')) {
    max = 1;
  } else if (peek() == '{') {
    TRY(const auto bounds, parse_braces());
    if (!bounds) return atom;
    std::tie(min, max) = *bounds;
  } else {
    return atom;
  }
  take('?');  // a lazy quantifier
  if (peek() == '*' || peek() == '+' || peek() == '?') return wrong("a quantifier after a quantifier");
  const Regex::Kind kind = out_.nodes[atom].kind;
  if (kind == Regex::Kind::begin || kind == Regex::Kind::end) return wrong("a quantifier after an anchor");
  return add({.kind = Regex::Kind::repeat, .children = {atom}, .min = min, .max = max});
}

std::optional<std::uint32_t> RegexParser::parse_number() {
  std::uint32_t value = 0;
  bool any = false;
  for (; peek() >= '0' && peek() <= '9'; ++at_, any = true) {
    value = std::min(kMaxCount + 1, value * 10 + (peek() - '0'));
  }
  return any ? std::optional(value) : std::nullopt;
}

base::Result<std::optional<std::pair<std::uint32_t, std::uint32_t>>> RegexParser::parse_braces() {
  const std::size_t begin = at_;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> bounds;
  ++at_;
  if (const auto min = parse_number()) {
    bounds.emplace(*min, *min);
    if (take(',')) bounds->second = parse_number().value_or(kUnbounded);
  }
  if (!bounds || !take('}')) {  // an ordinary character, which parse_atom must take
    at_ = begin;
    return std::optional<std::pair<std::uint32_t, std::uint32_t>>();
  }
  if (bounds->first > bounds->second) return wrong("a range of counts that is empty");
  if (bounds->first > kMaxCount || (bounds->second != kUnbounded && bounds->second > kMaxCount)) {
    return base::error(base::ErrorCode::too_large, "a count over {} in a regular expression", kMaxCount);
  }
  return bounds;
}

base::Result<std::uint32_t> RegexParser::parse_hex(int num_digits) {
  std::uint32_t value = 0;
  for (int i = 0; i < num_digits; ++i) {
    const char32_t c = peek();
    std::uint32_t digit = 16;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit == 16) return wrong("an escape with too few hexadecimal digits");
    value = value * 16 + digit;
    ++at_;
  }
  return value;
}

base::Result<CodepointSet> RegexParser::parse_escape() {
  if (done()) return wrong("a '\\' at the end");
  const char32_t c = text_[at_++];
  const auto one = [](char32_t code) { return CodepointSet(code, code); };
  switch (c) {
    case 'd':
      return digits();
    case 'D':
      return digits().complement();
    case 'w':
      return word_chars();
    case 'W':
      return word_chars().complement();
    case 's':
      return spaces();
    case 'S':
      return spaces().complement();
    case 'n':
      return one('\n');
    case 'r':
      return one('\r');
    case 't':
      return one('\t');
    case 'f':
      return one('\f');
    case 'v':
      return one('\v');
    case '0':
      return one(0);
    case 'x': {
      TRY(const std::uint32_t code, parse_hex(2));
      return one(code);
    }
    case 'u':
      break;
    case 'b':
    case 'B':
      return unsupported("word boundaries \\b");
    case 'p':
    case 'P':
      return unsupported("Unicode properties \\p");
    case 'k':
      return unsupported("back references \\k");
    case 'A':
    case 'Z':
    case 'z':
    case 'G':
      return unsupported("the anchors \\A and \\Z");
    default:
      if (c >= '1' && c <= '9') return unsupported("back references \\1");
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return wrong("an unknown escape");
      return one(c);
  }
  std::uint32_t code = 0;
  if (take('{')) {
    for (int i = 0; i < 6 && peek() != '}'; ++i) {
      TRY(const std::uint32_t digit, parse_hex(1));
      code = code * 16 + digit;
    }
    if (!take('}')) return wrong("a \\u{ without its }");
  } else {
    TRY(code, parse_hex(4));
    if (code >= 0xD800 && code <= 0xDBFF && looking_at(U"\\u")) {  // a surrogate pair
      at_ += 2;
      TRY(const std::uint32_t low, parse_hex(4));
      if (low < 0xDC00 || low > 0xDFFF) return wrong("a lone surrogate");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
  }
  if (code > CodepointSet::kLast || (code >= 0xD800 && code <= 0xDFFF)) return wrong("no such character");
  return one(code);
}

base::Result<CodepointSet> RegexParser::parse_class_member() {
  if (take('\\')) {
    if (take('b')) return CodepointSet('\b', '\b');
    return parse_escape();
  }
  const char32_t c = text_[at_++];
  return CodepointSet(c, c);
}

base::Result<RegexParser::Node> RegexParser::parse_class() {
  const bool negated = take('^');
  CodepointSet set;
  while (!done() && peek() != ']') {
    if (looking_at(U"[:")) return unsupported("POSIX classes [:");
    TRY(const CodepointSet first, parse_class_member());
    const bool is_range = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
    if (!is_range) {
      set.add(first);
      continue;
    }
    ++at_;
    TRY(const CodepointSet last, parse_class_member());
    const auto is_char = [](const CodepointSet& s) {
      return s.ranges().size() == 1 && s.ranges()[0].first == s.ranges()[0].last;
    };
    if (!is_char(first) || !is_char(last)) return wrong("a range of characters with a class as its end");
    if (first.ranges()[0].first > last.ranges()[0].first) return wrong("a range of characters that is empty");
    set.add(first.ranges()[0].first, last.ranges()[0].first);
  }
  if (!take(']')) return wrong("a '[' without its ']'");
  set = folded(std::move(set));
  return add_chars(negated ? set.complement() : std::move(set));
}

}  // namespace kvasir::grammar

#include "grammar/ebnf.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grammar/ebnf_parser.h"

namespace kvasir::grammar {
namespace {

constexpr int kMaxEbnfDepth = 100;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Lark's `common` terminals as regular expressions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kCommon{{
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"},
    {"NUMBER", "(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER", "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?"},
    {"ESCAPED_STRING", "\"(?:[^\"\\\\\\n]|\\\\.)*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[a-zA-Z_][a-zA-Z0-9_]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"LF", "\\n"},
    {"NEWLINE", "(?:\\r?\\n)+"},
}};

}  // namespace

base::Error EbnfParser::wrong(std::string_view what) const {
  return base::error(base::ErrorCode::invalid_argument, "not a valid grammar: {} (line {})", what, line_);
}

base::Error EbnfParser::unsupported(std::string_view what) const {
  return base::error(base::ErrorCode::unsupported, "grammars with {} are not supported (line {})", what,
                     line_);
}

void EbnfParser::skip_space() {
  while (!done()) {
    const char c = peek();
    const bool is_comment = (c == '#') || text_.substr(at_).starts_with("//");
    if (is_comment) {
      while (!done() && peek() != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (c == '\n') ++line_;
      ++at_;
    } else {
      return;
    }
  }
}

bool EbnfParser::take(std::string_view token) {
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  skip_space();
  return true;
}

std::string_view EbnfParser::peek_name() const {
  std::size_t end = at_;
  while (end < text_.size() && (is_name_char(text_[end]) || (text_[end] == '-' && dialect_ == Dialect::gbnf)))
    ++end;
  return text_.substr(at_, end - at_);
}

// Lark's priorities choose between readings of one text; which texts match is the same.
void EbnfParser::skip_priority() {
  if (peek() != '.') return;
  ++at_;
  if (peek() == '-') ++at_;
  while (peek() >= '0' && peek() <= '9') ++at_;
}

// Whether a new rule begins here: a name and the sign of a definition.
bool EbnfParser::at_rule_start() {
  const std::size_t at = at_;
  const int line = line_;
  if (dialect_ == Dialect::lark && (peek() == '?' || peek() == '!')) ++at_;
  const std::string_view name = peek_name();
  at_ += name.size();
  if (dialect_ == Dialect::lark) skip_priority();
  skip_space();
  const std::string_view sign = dialect_ == Dialect::gbnf ? "::=" : ":";
  const bool found = !name.empty() && text_.substr(at_).starts_with(sign);
  at_ = at;
  line_ = line;
  return found;
}

base::Status EbnfParser::find_dialect() {
  if (at_rule_start()) return base::ok();
  dialect_ = Dialect::lark;
  if (peek() == '%' || at_rule_start()) return base::ok();
  return wrong("it must begin with a rule, name ::= ... or name: ...");
}

base::Result<NodeId> EbnfParser::parse(std::optional<Dialect> only) {
  skip_space();
  if (only) dialect_ = *only;
  if (!only) TRY_OK(find_dialect());
  ignored_ = g_.add_rule("ignored");
  while (!done()) {
    if (g_.full()) break;
    if (dialect_ == Dialect::lark && peek() == '%') {
      TRY_OK(parse_directive());
    } else if (at_rule_start()) {
      TRY_OK(parse_rule());
    } else {
      return no_rule_here();
    }
  }
  TRY_OK(g_.check());
  return finish();
}

// The error for text that stands where a rule would have to begin.
base::Error EbnfParser::no_rule_here() {
  const std::size_t after = at_ + peek_name().size();
  const char next = after < text_.size() ? text_[after] : '\0';
  if (dialect_ == Dialect::lark && next == '{') return unsupported("rule templates");
  if (dialect_ == Dialect::lark && next == '[') return unsupported("attributes of rules, name[...]");
  return wrong("a rule was expected");
}

base::Status EbnfParser::parse_rule() {
  if (dialect_ == Dialect::lark && (peek() == '?' || peek() == '!')) ++at_;
  const std::string name(peek_name());
  at_ += name.size();
  if (peek() == '{') return unsupported("rule templates");
  skip_priority();
  skip_space();
  take(dialect_ == Dialect::gbnf ? "::=" : ":");
  rule_named(name);
  if (std::exchange(rules_.find(name)->second.defined, true)) {
    return wrong(fmt::format("a second rule for '{}'", name));
  }
  in_terminal_ =
      dialect_ == Dialect::lark && std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  TRY(const NodeId body, parse_choice());
  g_.define(rules_.find(name)->second.id, body);
  return base::ok();
}

base::Status EbnfParser::parse_directive() {
  if (take("%ignore")) {
    in_terminal_ = true;
    TRY(const NodeId node, parse_choice());
    ignored_ways_.push_back(node);
    return base::ok();
  }
  if (take("%import")) return parse_import();
  ++at_;
  return unsupported(fmt::format("the directive %{}", peek_name()));
}

base::Status EbnfParser::parse_import() {
  const std::string_view library = peek_name();
  at_ += library.size();
  if (library != "common") return unsupported("imports other than common");
  if (take(".")) {
    const std::string_view name = peek_name();
    at_ += name.size();
    skip_space();
    std::string_view alias = name;
    if (take("->")) {
      alias = peek_name();
      at_ += alias.size();
      skip_space();
    }
    return define_common(name, alias);
  }
  skip_space();
  if (!take("(")) return wrong("an import without names");
  while (!take(")")) {
    const std::string_view name = peek_name();
    if (name.empty()) return wrong("an import without names");
    at_ += name.size();
    skip_space();
    take(",");
    TRY_OK(define_common(name, name));
  }
  return base::ok();
}

base::Status EbnfParser::define_common(std::string_view name, std::string_view alias) {
  const auto it = std::ranges::find_if(kCommon, [&](const auto& entry) { return entry.first == name; });
  if (it == kCommon.end()) return unsupported(fmt::format("the import common.{}", name));
  const RuleId rule = rule_named(std::string(alias));
  if (std::exchange(rules_.find(alias)->second.defined, true)) {
    return wrong(fmt::format("a second rule for '{}'", alias));
  }
  TRY(const Regex regex, parse_regex(it->second, RegexExtent::whole));
  g_.define(rule, regex_node(g_, regex, encoding_));
  return base::ok();
}

base::Result<NodeId> EbnfParser::finish() {
  for (const auto& [name, rule] : rules_) {
    if (rule.defined) continue;
    line_ = rule.first_use_line;
    return wrong(fmt::format("no rule for '{}'", name));
  }
  const std::string_view root_name = dialect_ == Dialect::gbnf ? "root" : "start";
  const auto start = rules_.find(root_name);
  if (start == rules_.end()) return wrong(fmt::format("no rule for '{}', where a match begins", root_name));
  g_.define(*ignored_, g_.repeat(g_.choice(ignored_ways_), 0, kUnbounded));
  TRY_OK(g_.check());
  return g_.sequence({g_.reference(*ignored_), g_.reference(start->second.id)});
}

RuleId EbnfParser::rule_named(const std::string& name) {
  const auto it = rules_.find(name);
  if (it != rules_.end()) return it->second.id;
  const RuleId id = g_.add_rule(name);
  rules_[name] = {id, false, line_};
  return id;
}

base::Result<NodeId> EbnfParser::parse_choice() {
  if (++depth_ > kMaxEbnfDepth) {
    return base::error(base::ErrorCode::too_large, "the grammar is nested deeper than {}", kMaxEbnfDepth);
  }
  std::vector<NodeId> ways;
  take("|");  // Lark allows a | before the first way
  do {
    TRY(const NodeId way, parse_sequence());
    ways.push_back(way);
  } while (take("|"));
  --depth_;
  return g_.choice(std::move(ways));
}

base::Result<NodeId> EbnfParser::parse_sequence() {
  std::vector<NodeId> parts;
  while (!done() && peek() != '|' && peek() != ')' && peek() != '%') {
    if (dialect_ == Dialect::lark && peek() == ']') break;
    if (take("->")) {  // Lark's alias
      at_ += peek_name().size();
      skip_space();
      continue;
    }
    if (at_rule_start() || g_.full()) break;
    TRY(const NodeId item, parse_item());
    parts.push_back(item);
  }
  return g_.sequence(std::move(parts));
}

base::Result<NodeId> EbnfParser::parse_item() {
  TRY(NodeId atom, parse_atom());
  for (int i = 0;; ++i) {
    TRY(const auto bounds, parse_quantifier());
    if (!bounds) return atom;
    if (i > 8) return wrong("too many quantifiers in a row");
    atom = g_.repeat(atom, bounds->min, bounds->max);
  }
}

base::Result<Grammar> grammar_of_ebnf(std::string_view text) {
  Grammar grammar;
  TRY(const NodeId body, EbnfParser(text, grammar).parse());
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, body);
  grammar.set_root(root);
  TRY_OK(grammar.check());
  return grammar;
}

base::Result<NodeId> add_lark(Grammar& grammar, std::string_view text, CharEncoding encoding) {
  return EbnfParser(text, grammar, encoding).parse(EbnfParser::Dialect::lark);
}

}  // namespace kvasir::grammar

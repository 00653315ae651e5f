#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/char_encoding.h"
#include "grammar/grammar.h"
#include "grammar/regex.h"

namespace kvasir::grammar {

// Parses one EBNF text into a grammar. Used once. Private to ebnf*.cc.
class EbnfParser {
 public:
  enum class Dialect { gbnf, lark };

  EbnfParser(std::string_view text, Grammar& grammar, CharEncoding encoding = CharEncoding::plain)
      : text_(text), g_(grammar), encoding_(encoding) {}

  // Reads the whole text, in the dialect `only` if it is given. Returns the node of the texts that match.
  base::Result<NodeId> parse(std::optional<Dialect> only = std::nullopt);

 private:
  struct Rule {
    RuleId id;
    bool defined = false;
    int first_use_line = 0;
  };
  struct Bounds {
    std::uint32_t min;
    std::uint32_t max;
  };

  base::Status find_dialect();
  base::Status parse_rule();
  base::Error no_rule_here();
  base::Status parse_directive();
  base::Status parse_import();
  base::Status define_common(std::string_view name, std::string_view alias);
  base::Result<NodeId> finish();

  base::Result<NodeId> parse_choice();
  base::Result<NodeId> parse_sequence();
  base::Result<NodeId> parse_item();
  base::Result<NodeId> parse_atom();
  base::Result<NodeId> parse_string();
  base::Result<NodeId> parse_pattern();  // /regex/
  base::Result<RegexFlags> parse_flags();
  base::Result<NodeId> parse_char_class();  // [a-z]
  base::Result<std::optional<Bounds>> parse_quantifier();
  base::Result<std::uint32_t> parse_number();
  base::Result<std::u32string> parse_quoted();
  base::Result<char32_t> parse_escape();

  // Makes a text element. In Lark's rules, ignored text may follow it.
  NodeId terminal(NodeId node);
  NodeId chars(const CodepointSet& set) { return char_node(g_, set, encoding_); }
  NodeId literal(std::string_view utf8);
  void skip_priority();
  RuleId rule_named(const std::string& name);
  bool at_rule_start();
  std::string_view peek_name() const;
  void skip_space();
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view token);
  base::Error wrong(std::string_view what) const;
  base::Error unsupported(std::string_view what) const;

  std::string_view text_;
  Grammar& g_;
  const CharEncoding encoding_;
  std::size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  Dialect dialect_ = Dialect::gbnf;
  bool in_terminal_ = false;  // the current rule is one of Lark's terminals
  std::map<std::string, Rule, std::less<>> rules_;
  std::optional<RuleId> ignored_;  // may stand between Lark's terminals
  std::vector<NodeId> ignored_ways_;
};

}  // namespace kvasir::grammar

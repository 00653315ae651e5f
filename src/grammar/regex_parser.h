#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/regex.h"

namespace kvasir::grammar {

// Parses one pattern. Used once. Private to regex*.cc.
class RegexParser {
 public:
  RegexParser(std::u32string text, Regex& out, RegexFlags flags)
      : text_(std::move(text)), out_(out), flags_(flags) {}

  base::Result<std::uint32_t> parse();

 private:
  using Node = std::uint32_t;

  base::Result<Node> parse_choice();
  base::Result<Node> parse_sequence();
  base::Result<Node> parse_atom();
  base::Result<Node> parse_group();
  base::Result<Node> parse_quantifiers(Node atom);
  base::Result<Node> parse_class();
  // A class (\d, \w, ...) or one character.
  base::Result<CodepointSet> parse_escape();
  base::Result<CodepointSet> parse_class_member();
  base::Result<std::uint32_t> parse_hex(int num_digits);
  // {n}, {n,} or {n,m}; absent if the brace is an ordinary character.
  base::Result<std::optional<std::pair<std::uint32_t, std::uint32_t>>> parse_braces();
  std::optional<std::uint32_t> parse_number();

  bool done() const { return at_ >= text_.size(); }
  char32_t peek() const { return done() ? 0 : text_[at_]; }
  bool take(char32_t c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool looking_at(std::u32string_view prefix) const { return text_.compare(at_, prefix.size(), prefix) == 0; }
  base::Error wrong(std::string_view what) const;
  base::Error unsupported(std::string_view what) const;
  Node add(Regex::Node node);
  // Adds the letters of the other case to the set, if the flags ask for them.
  CodepointSet folded(CodepointSet set) const;
  Node add_chars(CodepointSet set) { return add({.kind = Regex::Kind::chars, .chars = std::move(set)}); }

  std::u32string text_;
  Regex& out_;
  const RegexFlags flags_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace kvasir::grammar

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/char_encoding.h"
#include "grammar/codepoint_set.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// A regular expression in ECMAScript's syntax, without constructs that are not regular or need Unicode
// tables: look-around, back references, word boundaries and \p are errors that name the construct. Lazy
// quantifiers match the same texts as eager ones.
struct Regex {
  enum class Kind : std::uint8_t { chars, sequence, choice, repeat, begin, end };
  struct Node {
    Kind kind;
    CodepointSet chars;
    std::vector<std::uint32_t> children;  // an empty sequence matches the empty text
    std::uint32_t min = 0;
    std::uint32_t max = 0;
  };

  std::vector<Node> nodes;
  std::uint32_t root = 0;
};

// Whether a match must cover the whole text or may be anywhere in it, as in JSON schema's `pattern`.
enum class RegexExtent { whole, anywhere };

struct RegexFlags {
  bool any_case = false;       // of ASCII's letters
  bool dot_takes_all = false;  // `.` also matches the ends of lines
};

// Parses the expression and resolves its anchors: the result has none and matches whole texts.
base::Result<Regex> parse_regex(std::string_view pattern, RegexExtent extent, RegexFlags flags = {});

NodeId regex_node(Grammar& grammar, const Regex& regex, CharEncoding encoding);

// The texts that the pattern matches as a whole.
base::Result<Grammar> grammar_of_regex(std::string_view pattern);

}  // namespace kvasir::grammar

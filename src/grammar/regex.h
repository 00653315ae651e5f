#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/char_encoding.h"
#include "grammar/codepoint_set.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// A regular expression as ECMAScript writes them, less what is not regular or needs Unicode tables:
// look-around, back references, word boundaries and \p are errors that name the construct. Lazy quantifiers
// match what eager ones do.
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

// Whether a match must cover the whole text or may stand anywhere in it, as JSON schema's `pattern` has it.
enum class RegexExtent { whole, anywhere };

// The expression with its anchors resolved: what is returned matches whole texts and has none.
base::Result<Regex> parse_regex(std::string_view pattern, RegexExtent extent);

NodeId regex_node(Grammar& grammar, const Regex& regex, CharEncoding encoding);

// The texts that match as a whole.
base::Result<Grammar> grammar_of_regex(std::string_view pattern);

}  // namespace kvasir::grammar

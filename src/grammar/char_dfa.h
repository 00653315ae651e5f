#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/char_encoding.h"
#include "grammar/codepoint_set.h"
#include "grammar/regex.h"

namespace kvasir::grammar {

// All demands on one string.
struct StringDemands {
  std::vector<const Regex*> match;      // must match all of these
  std::vector<const Regex*> not_match;  // must match none of these
  std::vector<std::string> not_equal;   // UTF-8
  std::uint32_t min_length = 0;         // in characters
  std::uint32_t max_length = kUnbounded;
  std::size_t max_states = 4000;  // making more is an error
};

// The strings that meet all demands, as a deterministic automaton over characters, since regular expressions
// cannot be intersected directly. Schemas need few states, and their number is bounded.
class CharDfa {
 public:
  static base::Result<CharDfa> make(const StringDemands& demands);

  bool empty() const { return states_.empty(); }
  bool matches(std::string_view utf8) const;
  // Adds the strings to the grammar, in quotes if the encoding is json.
  NodeId emit(Grammar& grammar, CharEncoding encoding) const;

 private:
  friend class CharDfaBuilder;
  static constexpr std::uint32_t kDead = 0xFFFFFFFF;
  struct State {
    bool accept = false;
    std::vector<std::uint32_t> next;  // by atom
  };

  void prune();
  void merge_equal_states();
  bool takes_anything(std::uint32_t state) const;

  std::vector<CodepointSet> atoms_;  // a partition of all characters
  std::vector<State> states_;        // the first is the start; empty: nothing matches
};

}  // namespace kvasir::grammar

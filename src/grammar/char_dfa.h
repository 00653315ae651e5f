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

// Everything that is demanded of one string.
struct StringDemands {
  std::vector<const Regex*> match;      // all of these
  std::vector<const Regex*> not_match;  // none of these
  std::vector<std::string> not_equal;   // UTF-8
  std::uint32_t min_length = 0;         // in characters
  std::uint32_t max_length = kUnbounded;
};

// The strings that meet all demands, as a deterministic automaton over characters: demands cannot be
// intersected as expressions. States are few for what schemas say and bounded for what they could.
class CharDfa {
 public:
  static base::Result<CharDfa> make(const StringDemands& demands);

  bool empty() const { return states_.empty(); }
  bool matches(std::string_view utf8) const;
  // In quotes where the encoding is JSON's.
  NodeId emit(Grammar& grammar, CharEncoding encoding) const;

 private:
  friend class CharDfaBuilder;
  static constexpr std::uint32_t kDead = 0xFFFFFFFF;
  struct State {
    bool accept = false;
    std::vector<std::uint32_t> next;  // by atom
  };

  void prune();
  bool takes_anything(std::uint32_t state) const;

  std::vector<CodepointSet> atoms_;  // a partition of all characters
  std::vector<State> states_;        // the first is the start; none: nothing matches
};

}  // namespace kvasir::grammar

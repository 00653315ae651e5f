#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvasir::grammar {

// A pattern whose look-aheads right after `^` are patterns of their own: a text must match `rest` and all of
// `match`, and none of `not_match`.
struct SplitPattern {
  std::string rest;
  std::vector<std::string> match;
  std::vector<std::string> not_match;
};

// Leaves the pattern as it is if it has no such look-aheads, or if they do not apply to the whole pattern.
SplitPattern split_lookaheads(std::string_view pattern);

// The pattern that matches this text alone.
std::string regex_of_text(std::string_view text);

}  // namespace kvasir::grammar

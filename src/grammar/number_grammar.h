#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/decimal.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// A model that has lost its way repeats digits for ever; nobody needs more of them. Two digits of exponent
// keep every number finite as a double.
inline constexpr std::uint32_t kMaxDigits = 40;

struct NumberBounds {
  std::optional<Decimal> min;
  std::optional<Decimal> max;
  bool min_excluded = false;
  bool max_excluded = false;
};

// Numbers in JSON's syntax.
NodeId integer_node(Grammar& grammar);
NodeId number_node(Grammar& grammar);
// Within bounds. Numbers within bounds have no exponent.
NodeId bounded_integer_node(Grammar& grammar, const NumberBounds& bounds);
NodeId bounded_number_node(Grammar& grammar, const NumberBounds& bounds);
// Multiples of `factor` (positive), in no bounds but a possible lowest of 0 or, excluding 0, of the factor.
// None where that cannot be said.
std::optional<NodeId> multiple_node(Grammar& grammar, const Decimal& factor, const NumberBounds& bounds);
// The whole multiples between two bounds, written out, where they are few. For a whole factor.
std::optional<std::vector<std::string>> multiples_between(const Decimal& factor, const NumberBounds& bounds);

}  // namespace kvasir::grammar

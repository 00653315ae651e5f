#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grammar/decimal.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// The most digits before the point, and after it. A model that has lost its way may repeat digits for ever,
// and useful numbers are shorter. Exponents have at most two digits, so every number is finite as a double.
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
// Numbers within bounds. They have no exponent.
NodeId bounded_integer_node(Grammar& grammar, const NumberBounds& bounds);
NodeId bounded_number_node(Grammar& grammar, const NumberBounds& bounds);
// Multiples of `factor` (positive). The only bound that it can have is a lowest value of 0 or, if 0 is
// excluded, of the factor. Absent for other bounds.
std::optional<NodeId> multiple_node(Grammar& grammar, const Decimal& factor, const NumberBounds& bounds);
// For a whole factor: the whole multiples between two bounds, as texts, if they are few.
std::optional<std::vector<std::string>> multiples_between(const Decimal& factor, const NumberBounds& bounds);

}  // namespace kvasir::grammar

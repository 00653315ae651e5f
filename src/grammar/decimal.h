#pragma once

#include <compare>
#include <optional>
#include <string>

#include "base/json.h"

namespace kvasir::grammar {

// An exact decimal number, for the bounds in schemas.
struct Decimal {
  bool negative = false;
  std::string whole;     // digits before the point, no leading zeros; empty for 0
  std::string fraction;  // digits after it, no trailing zeros

  // Absent if the value is not a number, or has more digits than any useful bound.
  static std::optional<Decimal> of(const base::json::value& value);

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool is_whole() const { return fraction.empty(); }
  Decimal abs() const { return {false, whole, fraction}; }
  // The nearest whole number towards plus or minus infinity.
  Decimal ceil() const;
  Decimal floor() const;
  Decimal plus_one() const;   // whole numbers only
  Decimal minus_one() const;  // whole numbers only

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal&) const = default;
};

}  // namespace kvasir::grammar

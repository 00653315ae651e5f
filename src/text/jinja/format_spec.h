#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/jinja/callable.h"

namespace kvasir::text::jinja {

// Python's format specification, such as the part after the colon in "{:*^+#012,.3f}".
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // one of <>=^; '\0': not given
  char sign = '-';    // one of -+ and a space
  bool alternate = false;
  bool zero = false;
  std::int64_t width = 0;
  char grouping = '\0';         // one of , and _; '\0': not given
  std::int64_t precision = -1;  // negative: not given
  char type = '\0';             // '\0': the default of the value's type
};

base::Result<FormatSpec> read_format_spec(std::string_view text);

// Implements Python's format(value, spec). Charges the budget.
base::Result<Prompt> formatted(Context& context, const Value& value, const FormatSpec& spec);

// Returns a number in the given type, without padding: an integer for bcdoxX, any number for eEfFgG%.
base::Result<std::string> number_digits(const Value& value, const FormatSpec& spec);

// Pads `text` to spec.width with spec.fill. `=` puts the padding after the sign and the base. Charges the
// budget.
base::Result<Prompt> padded(Context& context, const Prompt& text, const FormatSpec& spec);

// A larger width or precision is an error.
inline constexpr std::int64_t kMaxFormatWidth = 1'000'000;

}  // namespace kvasir::text::jinja

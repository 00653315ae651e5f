#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/jinja/callable.h"

namespace kvasir::text::jinja {

// Python's format specification: "{:*^+#012,.3f}".
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // one of <>=^, or none
  char sign = '-';    // one of -+ and a space
  bool alternate = false;
  bool zero = false;
  std::int64_t width = 0;
  char grouping = '\0';         // , or _ or none
  std::int64_t precision = -1;  // negative: none
  char type = '\0';             // none: the type's own
};

base::Result<FormatSpec> read_format_spec(std::string_view text);

// Python's format(value, spec), paid for.
base::Result<Prompt> formatted(Context& context, const Value& value, const FormatSpec& spec);

// A number as the type says, without fill: an integer for bcdoxX, any number for eEfFgG%.
base::Result<std::string> number_digits(const Value& value, const FormatSpec& spec);

// `text` widened to spec.width with spec.fill; `=` puts the fill after a sign and a base. Paid for.
base::Result<Prompt> padded(Context& context, const Prompt& text, const FormatSpec& spec);

// Wider or more exact than this is an error.
inline constexpr std::int64_t kMaxFormatWidth = 1'000'000;

}  // namespace kvasir::text::jinja

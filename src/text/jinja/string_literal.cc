#include "text/jinja/string_literal.h"

#include <optional>

#include "base/utf8.h"

namespace kvasir::text::jinja {
namespace {

std::optional<char> simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return std::nullopt;
  }
}

std::size_t num_hex_digits(char c) {
  return c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
}

struct Number {
  char32_t value = 0;
  std::size_t num_digits = 0;
};

Number read_digits(std::string_view text, int radix, std::size_t max_digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Number number;
  while (number.num_digits < max_digits && number.num_digits < text.size()) {
    const char c = text[number.num_digits];
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const std::size_t digit = kDigits.substr(0, static_cast<std::size_t>(radix)).find(lower);
    if (digit == std::string_view::npos) break;
    number.value = number.value * static_cast<char32_t>(radix) + static_cast<char32_t>(digit);
    ++number.num_digits;
  }
  return number;
}

// Lone surrogates and values beyond Unicode cannot be written in UTF-8, so they become U+FFFD.
void append_character(char32_t value, std::string& out) {
  const bool valid = value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  base::append_utf8(valid ? value : U'\uFFFD', out);
}

}  // namespace

base::Result<std::string> unescape_literal(std::string_view quoted) {
  std::string text;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      text += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    if (const auto simple = simple_escape(c)) {
      text += *simple;
    } else if (c == '\n') {
      continue;
    } else if (const std::size_t expected = num_hex_digits(c); expected > 0) {
      const Number number = read_digits(quoted.substr(i + 1), 16, expected);
      if (number.num_digits < expected || number.value > 0x10FFFF)
        return base::error(base::ErrorCode::invalid_argument, "an escape \\{} is not whole", c);
      append_character(number.value, text);
      i += number.num_digits;
    } else if (c == 'N') {
      return base::error(base::ErrorCode::invalid_argument, "names of characters are not supported");
    } else if (const Number octal = read_digits(quoted.substr(i), 8, 3); octal.num_digits > 0) {
      append_character(octal.value, text);
      i += octal.num_digits - 1;
    } else {
      text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace kvasir::text::jinja

#include "text/jinja/format_spec.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/utf8.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

bool is_align(char c) {
  return c == '<' || c == '>' || c == '=' || c == '^';
}

Result<std::int64_t> read_width(std::string_view text, std::size_t& at) {
  std::int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > kMaxFormatWidth) return failure("a width in a format is too large");
  }
  return value;
}

// Returns where the digits begin, after a sign and a base.
std::size_t prefix_size(std::string_view number) {
  std::size_t at = !number.empty() && (number[0] == '-' || number[0] == '+' || number[0] == ' ') ? 1 : 0;
  if (number.size() > at + 2 && number[at] == '0' &&
      std::string_view("xXob").find(number[at + 1]) != std::string_view::npos)
    at += 2;
  return at;
}

std::string with_separators(std::string_view digits, char separator, std::size_t every) {
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) grouped += separator;
    grouped += digits[i];
  }
  return grouped;
}

// Groups the integer digits. Zeros that fill the width are grouped as well.
std::string grouped(const std::string& number, const FormatSpec& spec) {
  const std::size_t begin = prefix_size(number);
  std::size_t end = begin;
  const bool hex = std::string_view("xX").find(spec.type) != std::string_view::npos;
  while (end < number.size() && (std::isdigit(static_cast<unsigned char>(number[end])) != 0 ||
                                 (hex && std::isxdigit(static_cast<unsigned char>(number[end])) != 0)))
    ++end;
  const bool by_four =
      spec.type != '\0' && std::string_view("xXob").find(spec.type) != std::string_view::npos;
  const std::size_t every = by_four ? 4 : 3;
  std::string digits = number.substr(begin, end - begin);
  const std::string rest = number.substr(end);
  const auto whole = [&] { return with_separators(digits, spec.grouping, every); };
  const bool zeros = spec.fill == "0" && spec.align == '=';
  std::string separated = whole();
  while (zeros && static_cast<std::int64_t>(begin + separated.size() + rest.size()) < spec.width) {
    digits.insert(digits.begin(), '0');
    separated = whole();
  }
  return number.substr(0, begin) + separated + rest;
}

std::string signed_text(std::string digits, const FormatSpec& spec) {
  if (spec.sign != '-' && !digits.starts_with('-')) digits.insert(digits.begin(), spec.sign);
  return digits;
}

std::string upper_ascii(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

// Formats for one type, e.g. "1.23e+02" for type e. `alternate` keeps the point and the zeros of type g.
std::string plain_real(double value, char type, std::int64_t precision, bool alternate) {
  const auto digits = static_cast<int>(precision);
  if (type == 'e')
    return alternate ? fmt::format("{:#.{}e}", value, digits) : fmt::format("{:.{}e}", value, digits);
  if (type == 'f')
    return alternate ? fmt::format("{:#.{}f}", value, digits) : fmt::format("{:.{}f}", value, digits);
  if (!alternate) return fmt::format("{:.{}g}", value, digits);
  // fmt would give one digit more than was asked for ("3.0" instead of "3.").
  std::string text(static_cast<std::size_t>(precision) + 32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%#.*g", digits, value)));
  return text;
}

// Formats without a type: like g, but with at least one digit after the point.
std::string short_real(double value, std::int64_t precision) {
  if (precision < 0) return real_repr(value);
  precision = std::max<std::int64_t>(precision, 1);
  const std::string scientific = fmt::format("{:.{}e}", value, static_cast<int>(precision - 1));
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  std::string text =
      exponent < -4 || exponent >= precision - 1 ? std::string() : plain_real(value, 'g', precision, false);
  if (text.empty()) {
    text = scientific;
    // This removes zeros at the end of the fraction.
    const std::size_t mark = text.find('e');
    std::size_t end = mark;
    if (text.find('.') != std::string::npos) {
      while (text[end - 1] == '0') --end;
      if (text[end - 1] == '.') --end;
    }
    return text.substr(0, end) + text.substr(mark);
  }
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

Result<std::string> real_digits(const Value& number, const FormatSpec& spec) {
  double value = number.real();
  const char lower_type = static_cast<char>(spec.type | 0x20);
  const bool upper_case = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (spec.precision > 400) return failure("a precision in a format is too large");
  if (spec.type == '%') value *= 100;
  std::string text;
  if (!std::isfinite(value)) {
    text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if (spec.type == '\0') {
    text = short_real(value, spec.precision);
  } else {
    const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
    const char type = spec.type == '%' ? 'f' : spec.type == 'n' ? 'g' : lower_type;
    text = plain_real(value, type, type == 'g' ? std::max<std::int64_t>(precision, 1) : precision,
                      spec.alternate);
  }
  if (upper_case) text = upper_ascii(std::move(text));
  if (spec.type == '%') text += '%';
  return signed_text(std::move(text), spec);
}

Result<std::string> integer_digits(std::int64_t value, const FormatSpec& spec) {
  if (spec.type == 'c') {
    if (spec.sign != '-') return failure("sign not allowed with integer format specifier 'c'");
    if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return failure("%c arg not in range(0x110000)");
    std::string character;
    base::append_utf8(static_cast<char32_t>(value), character);
    return character;
  }
  std::string text;
  switch (spec.type) {
    case 'b':
      text = spec.alternate ? fmt::format("{:#b}", value) : fmt::format("{:b}", value);
      break;
    case 'x':
    case 'X':
      text = spec.alternate ? fmt::format("{:#x}", value) : fmt::format("{:x}", value);
      if (spec.type == 'X') text = upper_ascii(std::move(text));
      break;
    case 'o':
      text = fmt::format("{:o}", value);
      if (spec.alternate) text.insert(value < 0 ? 1 : 0, "0o");
      break;
    default:
      text = fmt::format("{}", value);
  }
  return signed_text(std::move(text), spec);
}

bool is_real_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

Result<Prompt> formatted_text(Context& context, const Prompt& text, const FormatSpec& spec) {
  if (spec.type != '\0' && spec.type != 's')
    return failure("unknown format code '{}' for object of type 'str'", spec.type);
  if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' || spec.align == '=')
    return failure("a string's format takes no sign, no '#', no ',' and no '='");
  TRY_OK(context.budget.bytes(text.text.size()));
  if (spec.precision < 0) return padded(context, text, spec);
  return padded(context, text.slice(0, character_offset(text.text, static_cast<std::size_t>(spec.precision))),
                spec);
}

bool is_plain(const FormatSpec& spec) {
  return spec.align == '\0' && spec.sign == '-' && !spec.alternate && !spec.zero && spec.width == 0 &&
         spec.grouping == '\0' && spec.precision < 0 && spec.type == '\0';
}

}  // namespace

Result<FormatSpec> read_format_spec(std::string_view text) {
  FormatSpec spec;
  std::size_t at = 0;
  const std::size_t first = text.empty() ? 0 : base::utf8_step(text).size;
  if (text.size() > first && is_align(text[first]) && first > 0) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    at = first + 1;
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    at = 1;
  }
  const bool filled = at > 1;
  const auto skip = [&](char c) {
    const bool found = at < text.size() && text[at] == c;
    if (found) ++at;
    return found;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+' || text[at] == ' ')) spec.sign = text[at++];
  spec.alternate = skip('#');
  if (skip('0')) {
    spec.zero = true;
    if (!filled) spec.fill = "0";
    if (spec.align == '\0') spec.align = '=';
  }
  TRY(spec.width, read_width(text, at));
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (skip('.')) {
    if (at == text.size() || text[at] < '0' || text[at] > '9')
      return failure("format specifier missing precision");
    TRY(spec.precision, read_width(text, at));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) return failure("invalid format specifier");
  return spec;
}

Result<std::string> number_digits(const Value& value, const FormatSpec& spec) {
  if (is_real_type(spec.type) || value.is<double>()) return real_digits(value, spec);
  return integer_digits(value.integer(), spec);
}

Result<Prompt> padded(Context& context, const Prompt& text, const FormatSpec& spec) {
  const auto length = static_cast<std::int64_t>(count_characters(text.text));
  if (spec.width <= length) return text;
  const auto missing = static_cast<std::size_t>(spec.width - length);
  TRY_OK(context.budget.bytes(text.text.size() + missing * spec.fill.size()));
  const auto fill = [&](std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += spec.fill;
    return all;
  };
  Prompt out;
  if (spec.align == '=') {
    const std::size_t prefix = prefix_size(text.text);
    out.append(text.slice(0, prefix));
    out.append_literal(fill(missing));
    out.append(text.slice(prefix, text.text.size()));
    return out;
  }
  const std::size_t before = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  out.append_literal(fill(before));
  out.append(text);
  out.append_literal(fill(missing - before));
  return out;
}

Result<Prompt> formatted(Context& context, const Value& value, const FormatSpec& given) {
  FormatSpec spec = given;
  if (value.is_text() || (is_plain(spec) && !value.is<double>())) {
    // A zero before the width pads numbers on the left. Strings are padded on the right.
    if (spec.zero && spec.align == '=') spec.align = '<';
    if (value.is_text()) return formatted_text(context, value.prompt(), spec);
    return printed(context, value);
  }
  if (!value.is_number())
    return failure("unsupported format string passed to {}.__format__", value.type_name());
  constexpr std::string_view kTypes = "bcdoxXneEfFgG%";
  const bool known = spec.type == '\0' || kTypes.find(spec.type) != std::string_view::npos;
  const bool integer_type = spec.type != '\0' && !is_real_type(spec.type) && spec.type != 'n';
  if (!known || (integer_type && value.is<double>()))
    return failure("unknown format code '{}' for object of type '{}'", spec.type, value.type_name());
  const bool real = is_real_type(spec.type) || value.is<double>();
  if (!real && spec.precision >= 0) return failure("precision not allowed in integer format specifier");
  if (spec.grouping != '\0' &&
      (spec.type == 'n' || spec.type == 'c' || (spec.grouping == ',' && integer_type && spec.type != 'd')))
    return failure("cannot specify '{}' with '{}'", spec.grouping, spec.type);
  if (spec.align == '\0') spec.align = '>';
  TRY(std::string digits, number_digits(value, spec));
  if (spec.grouping != '\0') digits = grouped(digits, spec);
  Prompt text;
  text.text = std::move(digits);
  return padded(context, text, spec);
}

}  // namespace kvasir::text::jinja

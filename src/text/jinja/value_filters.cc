#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> fallback(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"default_value", "boolean"}));
  const Value* given = arguments.find(0, "default_value");
  const Value* boolean = arguments.find(1, "boolean");
  const bool missing =
      subject.is_undefined() || (boolean != nullptr && boolean->truthy() && !subject.truthy());
  if (!missing) return subject;
  return given != nullptr ? *given : Value::literal("");
}

std::string_view trimmed(const std::string& text) {
  const Range range = stripped(text, nullptr, Side::both);
  return std::string_view(text).substr(range.begin, range.end - range.begin);
}

// Removes Python's underscores. Absent if one is not between two digits.
std::optional<std::string> without_underscores(std::string_view digits) {
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] != '_') {
      plain += digits[i];
      continue;
    }
    const auto is_digit = [&](std::size_t at) {
      return at < digits.size() && std::isalnum(static_cast<unsigned char>(digits[at])) != 0;
    };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return plain;
}

// A number split from its sign, since from_chars does not accept a plus sign.
struct Signed {
  std::string_view rest;
  bool negative = false;
};

Signed signed_part(std::string_view text) {
  const bool has_sign = text.starts_with('+') || text.starts_with('-');
  return {has_sign ? text.substr(1) : text, text.starts_with('-')};
}

std::optional<double> parse_real(std::string_view text) {
  const auto [rest, negative] = signed_part(text);
  const auto digits = without_underscores(rest);
  if (!digits || digits->empty() || digits->front() == '-' || digits->front() == '+') return std::nullopt;
  const std::string word = lower(*digits);
  // from_chars also accepts nan(…), which Python does not.
  if (word.starts_with('n') && word != "nan") return std::nullopt;
  double value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ptr != word.data() + word.size()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    const std::size_t exponent = word.find("e-");
    value = exponent != std::string::npos ? 0 : HUGE_VAL;
  } else if (read.ec != std::errc()) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> to_integer(double value) {
  if (!(std::abs(value) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// Implements Python's int(text, base), in 64 bits.
Result<std::optional<std::int64_t>> parse_integer(std::string_view text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::optional<std::int64_t>();
  const auto [unsigned_text, negative] = signed_part(text);
  std::string_view rest = unsigned_text;
  const char letter = rest.size() > 2 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : '\0';
  const std::int64_t written = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  if (written != 0 && (base == 0 || base == written)) {
    rest.remove_prefix(2);
    if (rest.starts_with('_')) rest.remove_prefix(1);
    base = written;
  }
  const auto digits = without_underscores(rest);
  if (!digits || digits->empty() || digits->front() == '-') return std::optional<std::int64_t>();
  const bool padded =
      base == 0 && digits->front() == '0' && digits->find_first_not_of('0') != std::string::npos;
  if (padded) return std::optional<std::int64_t>();
  const std::string all = (negative ? "-" : "") + *digits;
  std::int64_t value = 0;
  const auto read =
      std::from_chars(all.data(), all.data() + all.size(), value, static_cast<int>(base == 0 ? 10 : base));
  if (read.ptr != all.data() + all.size()) return std::optional<std::int64_t>();
  if (read.ec == std::errc::result_out_of_range) return failure("the number is too large");
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// int(default=0, base=10)
Result<Value> to_int(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"default", "base"}));
  const Value* given = arguments.find(0, "default");
  const Value otherwise = given != nullptr ? *given : Value(std::int64_t{0});
  if (subject.is_undefined()) return undefined_error(subject);
  if (subject.is_integer()) return Value(subject.integer());
  if (subject.is<double>() && std::isinf(subject.real()))
    return failure("cannot convert float infinity to integer");
  if (subject.is_text()) {
    TRY(const std::int64_t base, integer_argument(arguments.find(1, "base"), 10));
    TRY(const auto whole, parse_integer(trimmed(subject.str()), base));
    if (whole) return Value(*whole);
  }
  TRY(const auto real, real_of(context, subject));
  if (!real || !std::isfinite(*real)) return otherwise;
  const auto whole = to_integer(*real);
  if (!whole) return failure("the number is too large");
  return Value(*whole);
}

Result<Value> to_float(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"default"}));
  if (subject.is_undefined()) return undefined_error(subject);
  TRY(const auto real, real_of(context, subject));
  if (real) return Value(*real);
  const Value* given = arguments.find(0, "default");
  return given != nullptr ? *given : Value(0.0);
}

Result<Value> absolute(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (!subject.is_number()) return failure("bad operand type for abs(): '{}'", subject.type_name());
  if (subject.is<double>()) return Value(std::abs(subject.real()));
  const std::int64_t value = subject.integer();
  if (value == INT64_MIN) return failure("the number is too large");
  return Value(value < 0 ? -value : value);
}

// Implements Python's round(number, digits): to the nearest, and exact halves to even.
Result<Value> round_common(const Value& number, std::int64_t precision) {
  precision = std::clamp<std::int64_t>(precision, -400, 400);
  if (number.is<double>()) {
    const double value = number.real();
    if (!std::isfinite(value) || precision > 330) return number;
    if (precision >= 0) return Value(std::stod(fmt::format("{:.{}f}", value, precision)));
    const long double scale = std::pow(10.0L, static_cast<long double>(-precision));
    return Value(static_cast<double>(std::nearbyint(static_cast<long double>(value) / scale) * scale));
  }
  const std::int64_t value = number.integer();
  if (precision >= 0) return Value(value);
  if (precision < -18) return Value(std::int64_t{0});
  std::int64_t scale = 1;
  for (std::int64_t i = precision; i < 0; ++i) scale *= 10;
  const std::int64_t rest = value % scale;
  const std::int64_t down = value - rest - (rest < 0 ? scale : 0);
  const std::int64_t above = value - down;
  const bool up = above > scale - above || (above == scale - above && down / scale % 2 != 0);
  std::int64_t result = down;
  if (up && __builtin_add_overflow(down, scale, &result)) return failure("the number is too large");
  return Value(result);
}

// round(precision=0, method='common')
Result<Value> rounded(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"precision", "method"}));
  TRY(const std::string method, text_argument(arguments.find(1, "method"), "common"));
  if (method != "common" && method != "ceil" && method != "floor")
    return failure("method must be common, ceil or floor");
  if (!subject.is_number()) return failure("round() needs a number, not '{}'", subject.type_name());
  TRY(const std::int64_t precision, integer_argument(arguments.find(0, "precision"), 0));
  const Value* given = arguments.find(0, "precision");
  if (method == "common") {
    // Without digits, Python's round returns an integer.
    if (given == nullptr || !given->is_none()) return round_common(subject, precision);
    TRY(const Value whole, round_common(subject, 0));
    const auto integer = to_integer(whole.real());
    if (!integer) return failure("cannot convert float to integer");
    return Value(*integer);
  }
  if (given != nullptr && given->is_none()) return failure("round() needs a number of digits");
  if (precision < -300 || precision > 300) return failure("the number is too large");
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = subject.real() * scale;
  if (!std::isfinite(scaled)) return failure("cannot convert float infinity to integer");
  // Python's ceil and floor return integers, which have no negative zero.
  return Value(((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / scale);
}

Result<Value> to_json(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  if (const Value* ascii = arguments.find(0, "ensure_ascii")) style.ascii_only = ascii->truthy();
  if (const Value* sort = arguments.find(3, "sort_keys")) style.sort_keys = sort->truthy();
  if (const Value* indent = arguments.find(1, "indent"); indent != nullptr && !indent->is_none()) {
    if (indent->is_text()) {
      style.indent = indent->str();
    } else {
      if (!indent->is_integer()) return failure("indent must be a number or a string");
      if (indent->integer() > 10'000) return failure("the indent is too large");
      style.indent = std::string(static_cast<std::size_t>(std::max<std::int64_t>(indent->integer(), 0)), ' ');
    }
    style.item_separator.assign(1, ',');
  }
  if (const Value* separators = arguments.find(2, "separators");
      separators != nullptr && !separators->is_none()) {
    const bool pair = (separators->is_list() || separators->is_tuple()) && separators->items().size() == 2 &&
                      separators->items()[0].is_text() && separators->items()[1].is_text();
    if (!pair) return failure("separators must be two strings");
    style.item_separator = separators->items()[0].str();
    style.key_separator = separators->items()[1].str();
  }
  TRY(Prompt text, dump_json(context, subject, style));
  return Value::text(std::move(text));
}

Result<Value> to_string(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_markup()) return subject;
  TRY(Prompt text, printed(context, subject));
  return Value::text(std::move(text));
}

Result<Value> attribute(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"name"}));
  const Value* given = arguments.find(0, "name");
  if (given == nullptr) return failure("attr() needs a name");
  TRY(const std::string name, text_argument(given, ""));
  // Unlike the dot, the filter `attr` does not find items of a dict.
  if (subject.is_dict() && find_method(subject, name) == nullptr)
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name));
  return attribute_of(subject, name);
}

constexpr std::array<NamedOperation, 9> kValueFilters = {{
    {"default", fallback},
    {"d", fallback},
    {"int", to_int},
    {"float", to_float},
    {"abs", absolute},
    {"round", rounded},
    {"tojson", to_json},
    {"string", to_string},
    {"attr", attribute},
}};

}  // namespace

Result<std::optional<double>> real_of(Context& context, const Value& value) {
  if (value.is_number()) return std::optional(value.real());
  if (!value.is_text()) return std::optional<double>();
  TRY_OK(context.budget.steps(value.weight() * 4));
  return parse_real(trimmed(value.str()));
}

std::span<const NamedOperation> value_filters() {
  return kValueFilters;
}

}  // namespace kvasir::text::jinja

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

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

std::optional<double> parse_real(std::string_view digits) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> to_integer(double value) {
  if (!(std::abs(value) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Result<Value> to_int(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"default", "base"}));
  TRY(const std::int64_t fallback_value, integer_argument(arguments.find(0, "default"), 0));
  TRY(const std::int64_t base, integer_argument(arguments.find(1, "base"), 10));
  if (base < 2 || base > 36) return failure("int() base must be >= 2 and <= 36");
  if (subject.is_integer()) return Value(subject.integer());
  std::optional<std::int64_t> value;
  if (subject.is_number()) {
    value = to_integer(subject.real());
  } else if (subject.is_text()) {
    std::string_view digits = trimmed(subject.str());
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::int64_t parsed = 0;
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), parsed, static_cast<int>(base));
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size()) {
      value = parsed;
    } else if (const auto real = parse_real(digits)) {
      value = to_integer(*real);
    }
  }
  return Value(value.value_or(fallback_value));
}

Result<Value> to_float(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"default"}));
  if (subject.is_number()) return Value(subject.real());
  if (subject.is_text()) {
    if (const auto value = parse_real(trimmed(subject.str()))) return Value(*value);
  }
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

Result<Value> rounded(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"precision", "method"}));
  if (!subject.is_number()) return failure("round() needs a number, not '{}'", subject.type_name());
  TRY(const std::int64_t precision, integer_argument(arguments.find(0, "precision"), 0));
  TRY(const std::string method, text_argument(arguments.find(1, "method"), "common"));
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(precision, -300, 300)));
  const double scaled = subject.real() * scale;
  if (method == "ceil") return Value(std::ceil(scaled) / scale);
  if (method == "floor") return Value(std::floor(scaled) / scale);
  // Python rounds halves to even.
  if (method == "common") return Value(std::nearbyint(scaled) / scale);
  return failure("method must be common, ceil or floor");
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
      TRY(const std::int64_t width, integer_argument(indent, 0));
      style.indent = std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(width, 0, 100)), ' ');
    }
    style.item_separator = ",";
  }
  if (const Value* separators = arguments.find(2, "separators");
      separators != nullptr && !separators->is_none()) {
    const bool pair = separators->is_list() && separators->items().size() == 2 &&
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
  TRY(Prompt text, printed(context, subject));
  return Value::text(std::move(text));
}

Result<Value> attribute(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"name"}));
  TRY(const std::string name, text_argument(arguments.find(0, "name"), ""));
  return attribute_of(subject, name);
}

Result<Value> unchanged(Context&, const Value& subject, const Arguments&) {
  return subject;
}

constexpr std::array<NamedOperation, 11> kFilters = {{
    {"default", fallback},
    {"d", fallback},
    {"int", to_int},
    {"float", to_float},
    {"abs", absolute},
    {"round", rounded},
    {"tojson", to_json},
    {"string", to_string},
    {"attr", attribute},
    {"safe", unchanged},
    {"mark_safe", unchanged},
}};

}  // namespace

std::span<const NamedOperation> value_filters() {
  return kFilters;
}

}  // namespace kvasir::text::jinja

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// One "%-08.3f" and what it takes.
struct Conversion {
  std::string key;  // of "%(key)s"
  bool left = false;
  bool zero = false;
  bool plus = false;
  int width = 0;
  int precision = -1;
  char type = '\0';
};

constexpr int kMaxWidth = 10'000;

int read_number(std::string_view text, std::size_t& at) {
  int value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min(value * 10 + (text[at] - '0'), kMaxWidth);
  }
  return value;
}

// `at` is behind the "%" before and behind the type after.
Result<Conversion> read_conversion(std::string_view format, std::size_t& at) {
  Conversion conversion;
  if (at < format.size() && format[at] == '(') {
    const std::size_t close = format.find(')', at);
    if (close == std::string_view::npos) return failure("incomplete format key");
    conversion.key = format.substr(at + 1, close - at - 1);
    at = close + 1;
  }
  for (; at < format.size(); ++at) {
    if (format[at] == '-') {
      conversion.left = true;
    } else if (format[at] == '0') {
      conversion.zero = true;
    } else if (format[at] == '+') {
      conversion.plus = true;
    } else {
      break;
    }
  }
  conversion.width = read_number(format, at);
  if (at < format.size() && format[at] == '.') conversion.precision = read_number(format, ++at);
  if (at >= format.size()) return failure("incomplete format");
  conversion.type = format[at++];
  return conversion;
}

Result<std::string> number_text(const Conversion& conversion, const Value& value) {
  if (!value.is_number())
    return failure("%{} format: a number is required, not {}", conversion.type, value.type_name());
  std::string digits;
  if (conversion.type == 'f' || conversion.type == 'F') {
    digits = fmt::format("{:.{}f}", value.real(),
                         conversion.precision < 0 ? 6 : std::min(conversion.precision, 100));
  } else {
    if (!value.is_integer() && !(std::abs(value.real()) < 9.2e18)) return failure("the number is too large");
    const std::int64_t whole = value.is_integer() ? value.integer() : static_cast<std::int64_t>(value.real());
    digits = conversion.type == 'x'   ? fmt::format("{:x}", whole)
             : conversion.type == 'X' ? fmt::format("{:X}", whole)
                                      : fmt::format("{}", whole);
  }
  if (conversion.plus && !digits.starts_with('-')) return "+" + digits;
  return digits;
}

Result<Prompt> converted(Context& context, const Conversion& conversion, const Value& value) {
  Prompt text;
  if (conversion.type == 's') {
    TRY(text, printed(context, value));
    if (conversion.precision >= 0) {
      text = text.slice(0, character_offset(text.text, static_cast<std::size_t>(conversion.precision)));
    }
  } else if (conversion.type == 'r') {
    TRY_OK(context.budget.steps(value.weight()));
    text = to_repr(value);
  } else if (std::string_view("dixXfF").find(conversion.type) != std::string_view::npos) {
    TRY(text.text, number_text(conversion, value));
  } else {
    return failure("unsupported format character '{}'", conversion.type);
  }
  TRY_OK(context.budget.bytes(text.text.size() + static_cast<std::size_t>(conversion.width)));
  const auto length = static_cast<int>(std::min<std::size_t>(count_characters(text.text), kMaxWidth));
  if (length >= conversion.width) return text;
  const std::string fill(static_cast<std::size_t>(conversion.width - length),
                         conversion.zero && !conversion.left && conversion.type != 's' ? '0' : ' ');
  Prompt padded;
  if (!conversion.left) padded.append_literal(fill);
  padded.append(text);
  if (conversion.left) padded.append_literal(fill);
  return padded;
}

Result<Value> argument_of(const Conversion& conversion, const Value& arguments, std::size_t& next) {
  if (!conversion.key.empty()) {
    const Value* value = arguments.is_dict() ? arguments.mapping().find(conversion.key) : nullptr;
    if (value == nullptr) return failure("the format's key '{}' is missing", conversion.key);
    return *value;
  }
  const bool tuple = arguments.type_name() == "tuple";
  const std::size_t available = tuple ? arguments.items().size() : 1;
  if (next >= available) return failure("not enough arguments for format string");
  const std::size_t index = next++;
  return tuple ? arguments.items()[index] : arguments;
}

}  // namespace

Result<Value> format_percent(Context& context, const Prompt& format, const Value& arguments) {
  const std::string_view text = format.text;
  Prompt out;
  std::size_t next = 0;
  std::size_t at = 0;
  while (true) {
    const std::size_t percent = std::min(text.find('%', at), text.size());
    TRY_OK(context.budget.bytes(percent - at));
    out.append(format.slice(at, percent));
    if (percent == text.size()) break;
    at = percent + 1;
    if (at < text.size() && text[at] == '%') {
      out.append_literal("%");
      ++at;
      continue;
    }
    TRY(const Conversion conversion, read_conversion(text, at));
    TRY(const Value value, argument_of(conversion, arguments, next));
    TRY(const Prompt part, converted(context, conversion, value));
    out.append(part);
  }
  if (arguments.type_name() == "tuple" && next < arguments.items().size()) {
    return failure("not all arguments converted during string formatting");
  }
  return Value::text(std::move(out));
}

Result<Value> format_braces(Context& context, const Prompt& format, const Arguments& arguments) {
  const std::string_view text = format.text;
  Prompt out;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
    TRY_OK(context.budget.bytes(brace - at));
    out.append(format.slice(at, brace));
    if (brace == text.size()) break;
    if (text.substr(brace, 2) == "{{" || text.substr(brace, 2) == "}}") {
      out.append(format.slice(brace, brace + 1));
      at = brace + 2;
      continue;
    }
    const std::size_t close = text.find('}', brace);
    if (text[brace] == '}' || close == std::string_view::npos)
      return failure("a single brace in the format string");
    const std::string_view field = text.substr(brace + 1, close - brace - 1);
    std::size_t position = arguments.positional.size();
    if (field.empty()) {
      position = next++;
    } else {
      std::from_chars(field.data(), field.data() + field.size(), position);
    }
    const bool named = !field.empty() && (field[0] < '0' || field[0] > '9');
    const Value* value = arguments.find(named ? arguments.positional.size() : position, field);
    if (value == nullptr) return failure("the format field '{}' has no argument", field);
    TRY(const Prompt part, printed(context, *value));
    out.append(part);
    at = close + 1;
  }
  return Value::text(std::move(out));
}

}  // namespace kvasir::text::jinja

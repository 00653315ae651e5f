#include "api/http/json/fields.h"

#include <cmath>
#include <utility>

#include "base/unique_json.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

Error wrong_type(std::string_view expected, const json::value& value) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("expected {}, got {}", expected, kind_of(value)),
               {},
               "invalid_type"};
}

Error missing(std::string_view expected) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("it is missing; expected {}", expected),
               {},
               "missing_required_parameter"};
}

Error wrong_value(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message), {}, "invalid_value"};
}

std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
      return "an integer";
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "a value";
}

Result<double> read_number(const json::value& value, NumberRange range) {
  boost::system::error_code code;
  const double number = value.to_number<double>(code);
  if (!value.is_number() || code) return wrong_type("a number", value);
  if (!(number >= range.min && number <= range.max))
    return wrong_value(fmt::format("expected a number from {} to {}, got {}", range.min, range.max, number));
  return number;
}

Result<std::int64_t> read_integer(const json::value& value, IntegerRange range) {
  if (!value.is_number()) return wrong_type("an integer", value);
  // 10.0 counts as an integer, since some languages have only one number type.
  boost::system::error_code code;
  const auto number = value.to_number<std::int64_t>(code);
  if (code) {
    const double real = value.to_number<double>(code);
    if (real == std::trunc(real))
      return wrong_value(
          fmt::format("expected an integer from {} to {}, got {}", range.min, range.max, real));
    return wrong_type("an integer", value);
  }
  if (number < range.min || number > range.max)
    return wrong_value(
        fmt::format("expected an integer from {} to {}, got {}", range.min, range.max, number));
  return number;
}

Result<bool> read_bool(const json::value& value) {
  if (!value.is_bool()) return wrong_type("a boolean", value);
  return value.get_bool();
}

Result<std::string> read_string(const json::value& value) {
  if (!value.is_string()) return wrong_type("a string", value);
  return std::string(value.get_string());
}

Error not_supported(std::string_view what) {
  return Error{ErrorCode::unsupported,
               fmt::format("{} not supported by this server", what),
               {},
               "unsupported_parameter"};
}

Error in_field(std::string_view field, Error error) {
  const bool nested = !error.field.empty();
  error.field = nested ? fmt::format("{}{}{}", field, error.field.front() == '[' ? "" : ".", error.field)
                       : std::string(field);
  return error;
}

Result<json::object> parse_object(std::string_view body, int max_depth) {
  if (body.empty())
    return Error{
        ErrorCode::invalid_argument, "the request has no body; expected a JSON object", {}, "missing_body"};
  TRY(json::value value, base::parse_unique_json(body, {.max_depth = max_depth}));
  if (!value.is_object())
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the request's body is {}; expected a JSON object", kind_of(value)),
                 {},
                 "invalid_type"};
  return std::move(value.get_object());
}

}  // namespace kvasir::api

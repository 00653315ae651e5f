#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// Reading a request's JSON by table: a row is a field's name, what to do with its value, and the schema that
// /openapi.json shows of it.
namespace kvasir::api {

namespace json = boost::json;

template <class Target>
struct Field {
  std::string_view name;
  // Null: it is read elsewhere; here it is only seen to be there.
  base::Status (*read)(const json::value& value, Target& target);
  // A JSON schema that accepts what `read` does, null apart. Empty: the document does not speak of the field.
  std::string_view schema = {};
  // What a request without the field is told was expected: "an array of messages". Empty: it may be absent.
  std::string_view required_as = {};
};

struct NumberRange {
  double min;
  double max;
};
struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};

// "a string", "an array": for messages about a value of the wrong type.
std::string_view kind_of(const json::value& value);

// The errors of a field's value; the caller adds the field (`in_field`). `expected` is a phrase: "a number".
base::Error wrong_type(std::string_view expected, const json::value& value);
base::Error missing(std::string_view expected);
base::Error wrong_value(std::string message);

// Each names what it expected and what it got.
base::Result<double> read_number(const json::value& value, NumberRange range);
base::Result<std::int64_t> read_integer(const json::value& value, IntegerRange range);
base::Result<bool> read_bool(const json::value& value);
base::Result<std::string> read_string(const json::value& value);

// What the client asked for is known and not done here: 400, never ignored.
base::Error not_supported(std::string_view what);

// The same error, about `field`. A field that the error already names is inside this one: "stop" + "[2]".
base::Error in_field(std::string_view field, base::Error error);

base::Result<json::object> parse_object(std::string_view body, int max_depth);

// For what was stored: a request may be as deep as the setting allows (1,024), and its parts are put into a
// few more levels.
inline constexpr base::JsonLimits kStoredJson{.max_depth = 1100};

// Reads the fields that the object has; null is the same as absent, as with OpenAI.
template <class Target>
base::Status read_fields(const json::object& object, std::span<const Field<Target>> table, Target& target) {
  for (const Field<Target>& field : table) {
    const json::value* value = object.if_contains(field.name);
    if (value == nullptr || value->is_null()) {
      if (field.required_as.empty()) continue;
      return in_field(field.name, missing(field.required_as));
    }
    if (field.read == nullptr) continue;
    if (base::Status status = field.read(*value, target); !status.ok())
      return in_field(field.name, std::move(status).error());
  }
  return base::ok();
}

}  // namespace kvasir::api

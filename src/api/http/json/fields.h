#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// Reads a request's JSON by a table. A row of the table has a field's name, the function that reads its
// value, and the schema that /openapi.json shows for it.
namespace kvasir::api {

namespace json = boost::json;

template <class Target>
struct Field {
  std::string_view name;
  // Null: the field is read elsewhere, and here it is only checked for presence.
  base::Status (*read)(const json::value& value, Target& target);
  // A JSON schema of the values that `read` accepts, except null. Empty: the field is not documented.
  std::string_view schema = {};
  // A phrase for the error about a missing field: "an array of messages". Empty: the field is optional.
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

// Names the kind of a value, "a string" or "an array" etc., for messages about a value of the wrong type.
std::string_view kind_of(const json::value& value);

// Errors about a field's value. The caller adds the field's name with `in_field`. `expected` is a phrase: "a
// number".
base::Error wrong_type(std::string_view expected, const json::value& value);
base::Error missing(std::string_view expected);
base::Error wrong_value(std::string message);

// These readers' errors say what was expected and what was found.
base::Result<double> read_number(const json::value& value, NumberRange range);
base::Result<std::int64_t> read_integer(const json::value& value, IntegerRange range);
base::Result<bool> read_bool(const json::value& value);
base::Result<std::string> read_string(const json::value& value);

// The error for a known field that is not supported here. It becomes a 400; the field is never ignored.
base::Error not_supported(std::string_view what);

// Adds `field` to the error. A field that the error already names is inside `field`: "stop" + "[2]".
base::Error in_field(std::string_view field, base::Error error);

base::Result<json::object> parse_object(std::string_view body, int max_depth);

// Limits for stored JSON. A request may be as deep as the setting allows (1,024 levels), and the store wraps
// its parts in a few more levels.
inline constexpr base::JsonLimits kStoredJson{.max_depth = 1100};

// Finds out quickly that an object lacks a field; it may be wrong only in saying that the object may have it.
// Most requests have a few of the hundred known fields.
class NameFilter {
 public:
  explicit NameFilter(const json::object& object) {
    for (const auto& member : object) bits_ |= bit_of(member.key());
  }
  bool may_have(std::string_view name) const { return (bits_ & bit_of(name)) != 0; }

 private:
  static constexpr std::uint64_t bit_of(std::string_view name) {
    if (name.empty()) return 1;
    const auto letter = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
    return std::uint64_t{1} << ((name.size() * 5 + letter(0) * 3 + letter(name.size() / 2) +
                                 letter(name.size() - 1) * 7) %
                                64);
  }

  std::uint64_t bits_ = 0;
};

// Reads the fields that the object has. Null is treated as absent, as in OpenAI's API.
template <class Target>
base::Status read_fields(const json::object& object, std::span<const Field<Target>> table, Target& target) {
  const NameFilter filter(object);
  for (const Field<Target>& field : table) {
    const json::value* value = filter.may_have(field.name) ? object.if_contains(field.name) : nullptr;
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

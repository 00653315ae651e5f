#include "grammar/schema_check.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "grammar/char_encoding.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

constexpr int kMaxCheckDepth = 100;
constexpr int kMaxWork = 100'000;

bool equal(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

bool has_type(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (type != "integer") return true;
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::trunc(value.get_double()) == value.get_double());
}

class SchemaCheck {
 public:
  explicit SchemaCheck(const json::value& root) : root_(root) {}

  bool fits(const json::value& value, const json::value& schema) {
    if (depth_ >= kMaxCheckDepth || ++work_ > kMaxWork) return true;
    if (const bool* anything = schema.if_bool()) return *anything;
    const json::object* object = schema.if_object();
    if (object == nullptr) return true;
    ++depth_;
    const bool result = fits_type(value, *object) && fits_values(value, *object) &&
                        fits_bounds(value, *object) && fits_members(value, *object) &&
                        fits_items(value, *object) && fits_combinations(value, *object);
    --depth_;
    return result;
  }

 private:
  static bool fits_type(const json::value& value, const json::object& schema) {
    const json::value* type = schema.if_contains("type");
    if (type == nullptr) return true;
    if (value.is_null()) {
      const json::value* nullable = schema.if_contains("nullable");
      if (nullable != nullptr && nullable->is_bool() && nullable->get_bool()) return true;
    }
    if (type->is_string()) return has_type(value, type->get_string());
    if (!type->is_array()) return true;
    return std::ranges::any_of(type->get_array(), [&](const json::value& one) {
      return one.is_string() && has_type(value, one.get_string());
    });
  }

  static bool fits_values(const json::value& value, const json::object& schema) {
    if (const json::value* only = schema.if_contains("const"); only != nullptr && !equal(*only, value))
      return false;
    const json::value* values = schema.if_contains("enum");
    if (values == nullptr || !values->is_array()) return true;
    return std::ranges::any_of(values->get_array(),
                               [&](const json::value& one) { return equal(one, value); });
  }

  static bool fits_bounds(const json::value& value, const json::object& schema) {
    const auto holds = [&](const char* keyword, auto&& test) {
      const json::value* bound = schema.if_contains(keyword);
      return bound == nullptr || !bound->is_number() || test(bound->to_number<double>());
    };
    if (value.is_number()) {
      const auto x = value.to_number<double>();
      return holds("minimum", [&](double b) { return x >= b; }) &&
             holds("maximum", [&](double b) { return x <= b; }) &&
             holds("exclusiveMinimum", [&](double b) { return x > b; }) &&
             holds("exclusiveMaximum", [&](double b) { return x < b; });
    }
    if (value.is_string()) {
      const auto characters = decode_utf8(value.get_string());
      const auto size = static_cast<double>(characters ? characters->size() : 0);
      return holds("minLength", [&](double b) { return size >= b; }) &&
             holds("maxLength", [&](double b) { return size <= b; });
    }
    if (!value.is_array()) return true;
    const auto size = static_cast<double>(value.get_array().size());
    return holds("minItems", [&](double b) { return size >= b; }) &&
           holds("maxItems", [&](double b) { return size <= b; });
  }

  bool fits_members(const json::value& value, const json::object& schema) {
    const json::object* object = value.if_object();
    if (object == nullptr) return true;
    const json::value* required = schema.if_contains("required");
    if (required != nullptr && required->is_array())
      for (const json::value& name : required->get_array())
        if (name.is_string() && !object->contains(name.get_string())) return false;
    const json::value* properties = schema.if_contains("properties");
    const json::value* others = schema.if_contains("additionalProperties");
    const bool has_patterns = schema.contains("patternProperties");
    for (const auto& [key, member] : *object) {
      const json::value* own = properties != nullptr && properties->is_object()
                                   ? properties->get_object().if_contains(key)
                                   : nullptr;
      if (own == nullptr && !has_patterns) own = others;
      if (own != nullptr && !fits(member, *own)) return false;
    }
    return true;
  }

  bool fits_items(const json::value& value, const json::object& schema) {
    const json::array* array = value.if_array();
    if (array == nullptr) return true;
    const json::value* first = schema.if_contains("prefixItems");
    const std::size_t num_first = first != nullptr && first->is_array() ? first->get_array().size() : 0;
    const json::value* rest = schema.if_contains("items");
    for (std::size_t i = 0; i < array->size(); ++i) {
      const json::value* own = i < num_first ? &first->get_array()[i] : rest;
      if (own != nullptr && !fits((*array)[i], *own)) return false;
    }
    return true;
  }

  bool fits_combinations(const json::value& value, const json::object& schema) {
    if (const json::value* reference = schema.if_contains("$ref");
        reference != nullptr && reference->is_string()) {
      const std::string_view text = reference->get_string();
      boost::system::error_code code;
      const json::value* target = text.starts_with('#') ? root_.find_pointer(text.substr(1), code) : nullptr;
      if (target != nullptr && !fits(value, *target)) return false;
    }
    const auto list = [&](const char* keyword) -> const json::array* {
      const json::value* schemas = schema.if_contains(keyword);
      return schemas == nullptr ? nullptr : schemas->if_array();
    };
    const auto fits_one = [&](const json::value& one) { return fits(value, one); };
    if (const json::array* all = list("allOf"); all != nullptr && !std::ranges::all_of(*all, fits_one))
      return false;
    for (const char* keyword : {"anyOf", "oneOf"})
      if (const json::array* any = list(keyword); any != nullptr && !std::ranges::any_of(*any, fits_one))
        return false;
    return true;
  }

  const json::value& root_;
  int depth_ = 0;
  int work_ = 0;
};

}  // namespace

bool fits_schema(const json::value& value, const json::value& schema) {
  return SchemaCheck(schema).fits(value, schema);
}

}  // namespace kvasir::grammar

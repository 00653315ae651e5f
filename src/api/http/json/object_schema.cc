#include "api/http/json/object_schema.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "net/request_target.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;

namespace {

void allow_null(json::object& schema) {
  if (json::value* type = schema.if_contains("type")) {
    if (type->is_string()) *type = json::array{*type};
    type->get_array().emplace_back("null");
    if (json::value* values = schema.if_contains("enum")) values->get_array().emplace_back(nullptr);
  } else if (json::value* values = schema.if_contains("enum")) {
    values->get_array().emplace_back(nullptr);
  } else if (json::value* branches = schema.if_contains("anyOf")) {
    branches->get_array().push_back(json::object{{"type", "null"}});
  } else if (json::value* reference = schema.if_contains("$ref")) {
    json::array branches{json::object{{"$ref", *reference}}, json::object{{"type", "null"}}};
    schema.erase("$ref");
    schema["anyOf"] = std::move(branches);
  }
}

// Converts the text to a number or boolean if the schema asks for one and the text is one. Otherwise it stays
// a string.
json::value value_of(const std::string& text, const json::value& schema) {
  const json::value* type = schema.get_object().if_contains("type");
  const auto is = [&](std::string_view name) {
    if (type == nullptr) return false;
    if (type->is_string()) return type->get_string() == name;
    return std::ranges::find(type->get_array(), json::value(name)) != type->get_array().end();
  };
  if (is("integer") || is("number"))
    if (auto number = base::parse_json(text); number.ok() && number->is_number()) return *number;
  if (is("boolean") && (text == "true" || text == "false")) return text == "true";
  return json::value(text);
}

base::Result<std::string> decode(std::string text) {
  std::ranges::replace(text, '+', ' ');
  std::optional<std::string> decoded = net::percent_decode(text);
  if (!decoded || base::utf8_valid_prefix(*decoded) != decoded->size())
    return Error{ErrorCode::invalid_argument, "the query's escapes are broken", {}, "invalid_query"};
  return std::move(*decoded);
}

}  // namespace

json::value schema_literal(std::string_view text) {
  auto schema = base::parse_json(text);
  CHECK(schema.ok() && schema->is_object(), "not a schema: {}", text);
  return std::move(*schema);
}

void ObjectSchema::add_field(std::string_view name, std::string_view schema, std::string_view required_as) {
  names_.emplace(name);
  if (schema.empty()) return;
  json::value value = schema_literal(schema);
  if (required_as.empty())
    allow_null(value.get_object());
  else
    required_.emplace_back(name);
  properties_[name] = std::move(value);
}

// Warnings are also sent as headers, so their number, length and letters are bounded.
void ObjectSchema::warn_of_others(const json::object& object, std::vector<std::string>& warnings,
                                  std::string_view place) const {
  constexpr std::size_t kMostNames = 8;
  constexpr std::size_t kMostBytes = 64;
  std::size_t num_others = 0;
  for (const auto& [key, value] : object) {
    if (value.is_null() || names_.contains(std::string_view(key)) || ++num_others > kMostNames) continue;
    std::string name = std::string(key).substr(0, kMostBytes);
    std::ranges::replace_if(name, [](char c) { return c <= ' ' || c > '~'; }, '?');
    warnings.push_back(fmt::format("{}{}: ignored, this server does not know the field", place, name));
  }
  if (num_others > kMostNames)
    warnings.push_back(fmt::format("{} further fields are ignored too", num_others - kMostNames));
}

void warn_of_other_name(const json::object& object, std::string_view used, std::string_view other,
                        std::vector<std::string>& warnings) {
  const json::value* first = object.if_contains(used);
  const json::value* second = object.if_contains(other);
  if (first == nullptr || first->is_null() || second == nullptr || second->is_null() || *first == *second)
    return;
  warnings.push_back(fmt::format("{}: ignored, {} asks for the same and counts", other, used));
}

json::object ObjectSchema::take() {
  json::object schema{{"type", "object"}};
  if (!required_.empty()) schema["required"] = std::move(required_);
  schema["properties"] = std::move(properties_);
  return schema;
}

base::Result<json::object> parse_query(std::string_view query, const json::object& schema) {
  json::object object;
  const json::object& properties = schema.at("properties").get_object();
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    TRY(const std::string name, decode(std::string(pair.substr(0, equals))));
    const json::value* known = properties.if_contains(name);
    if (known == nullptr) continue;
    TRY(const std::string text,
        decode(std::string(equals == pair.npos ? std::string_view() : pair.substr(equals + 1))));
    object[name] = value_of(text, *known);
  }
  return object;
}

}  // namespace kvasir::api

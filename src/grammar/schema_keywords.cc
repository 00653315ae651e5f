#include "grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "grammar/schema_document.h"
#include "grammar/schema_negation.h"
#include "grammar/string_formats.h"

namespace kvasir::grammar {
namespace {

constexpr std::array<std::string_view, 63> kKnown{
    // enforced
    "type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties",
    "propertyNames", "items", "prefixItems", "additionalItems", "minItems", "maxItems", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties",
    "maxProperties", "pattern", "format", "anyOf", "oneOf", "allOf", "$ref", "not", "nullable", "uniqueItems",
    "if", "dependencies", "dependentRequired", "dependentSchemas", kNotStrings, kNotPatterns,
    // places for other schemas
    "$defs", "definitions",
    // annotations
    "title", "description", "default", "examples", "example", "$comment", "$schema", "$id", "id", "$anchor",
    "$vocabulary", "deprecated", "readOnly", "writeOnly", "discriminator", "contentMediaType",
    "contentEncoding", "contentSchema", "externalDocs", "xml",
    // without effect where `if` or `contains` is absent
    "then", "else", "minContains", "maxContains"};

// Keywords of some draft that restrict values and are not enforced.
constexpr std::array<std::string_view, 8> kRestricting{
    "contains",         "disallow",    "divisibleBy",   "unevaluatedProperties",
    "unevaluatedItems", "$dynamicRef", "$recursiveRef", "extends"};

bool contains(std::span<const std::string_view> list, std::string_view keyword) {
  return std::ranges::find(list, keyword) != list.end();
}

bool is_harmless(std::string_view keyword, const base::json::value& value) {
  if (keyword.starts_with("unevaluated")) return value == true;
  return false;
}

// Whether `format` may concern strings, and so is worth a note if it is unknown.
bool may_be_string(const base::json::object& schema) {
  const base::json::value* type = schema.if_contains("type");
  if (type == nullptr || *type == "string") return true;
  return type->is_array() && std::ranges::find(type->get_array(), "string") != type->get_array().end();
}

}  // namespace

base::Status check_keywords(const base::json::object& schema, const std::string& path, Notes& notes) {
  for (const auto& member : schema) {
    const std::string_view keyword = member.key();
    if (keyword == "format" && member.value().is_string() && may_be_string(schema) &&
        !regex_of_format(member.value().get_string())) {
      const std::string_view format = member.value().get_string();
      notes.add(fmt::format("the format '{}' is unknown and ignored", format), path_to(path, keyword));
    }
    if (contains(kKnown, keyword) || keyword.starts_with("x-")) continue;
    if (!contains(kRestricting, keyword)) {
      notes.add(fmt::format("'{}' is not a keyword of JSON Schema and is ignored", keyword),
                path_to(path, keyword));
    } else if (!is_harmless(keyword, member.value())) {
      return unsupported_keyword(path_to(path, keyword), "it cannot be enforced while generating");
    }
  }
  return base::ok();
}

}  // namespace kvasir::grammar

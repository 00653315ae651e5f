#include "grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "grammar/schema_document.h"

namespace kvasir::grammar {
namespace {

constexpr std::array<std::string_view, 52> kKnown{
    // enforced
    "type", "enum", "const", "properties", "required", "additionalProperties", "patternProperties",
    "propertyNames", "items", "prefixItems", "additionalItems", "minItems", "maxItems", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties",
    "maxProperties", "pattern", "format", "anyOf", "oneOf", "allOf", "$ref", "not", "nullable",
    // places for other schemas
    "$defs", "definitions",
    // annotations
    "title", "description", "default", "examples", "example", "$comment", "$schema", "$id", "id", "$anchor",
    "$vocabulary", "deprecated", "readOnly", "writeOnly", "discriminator", "contentMediaType",
    "contentEncoding", "contentSchema", "externalDocs", "xml"};

bool is_harmless(std::string_view keyword, const base::json::value& value) {
  if (keyword.starts_with("x-")) return true;
  if (keyword == "uniqueItems") return value.is_bool() && !value.get_bool();
  if (keyword == "unevaluatedProperties" || keyword == "unevaluatedItems") {
    return value.is_bool() && value.get_bool();
  }
  return false;
}

}  // namespace

base::Status check_keywords(const base::json::object& schema, const std::string& path) {
  for (const auto& member : schema) {
    const std::string_view keyword = member.key();
    if (std::find(kKnown.begin(), kKnown.end(), keyword) != kKnown.end()) continue;
    if (is_harmless(keyword, member.value())) continue;
    return unsupported_keyword(path_to(path, keyword), "it cannot be enforced while generating");
  }
  return base::ok();
}

}  // namespace kvasir::grammar

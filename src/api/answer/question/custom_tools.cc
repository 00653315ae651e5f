#include "api/answer/question/custom_tools.h"

#include <utility>

#include "api/answer/shape/custom_input.h"
#include "api/http/json/fields.h"

namespace kvasir::api {

using base::Result;

namespace {

// A larger definition would take long to compile, and no known tool has one this large.
constexpr std::size_t kMaxDefinition = std::size_t{64} << 10;

std::string_view word_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// Reads {"syntax": "lark" or "regex", "definition": …}, which is at `place` in the tool.
Result<CustomFormat> read_grammar(const json::object& grammar, const std::string& place) {
  const json::value* definition = grammar.if_contains("definition");
  if (definition == nullptr || !definition->is_string() || definition->get_string().empty())
    return in_field("definition", missing("the text of a grammar"));
  if (definition->get_string().size() > kMaxDefinition)
    return in_field("definition", wrong_value(fmt::format("expected at most {} bytes", kMaxDefinition)));
  const std::string_view text = definition->get_string();
  const std::string_view syntax = word_at(grammar, "syntax");
  if (syntax == "regex") return CustomFormat{.pattern = fmt::format("^(?:{})$", text)};
  if (syntax != "lark") return in_field("syntax", wrong_value("expected lark or regex"));
  return CustomFormat{.lark = std::string(text), .lark_field = place + ".definition"};
}

}  // namespace

Result<CustomFormat> read_custom_format(const json::object& tool) {
  const json::value* value = tool.if_contains("format");
  if (value == nullptr || value->is_null()) return CustomFormat();
  if (!value->is_object()) return in_field("format", wrong_type("an object", *value));
  const json::object& format = value->get_object();
  const std::string_view type = word_at(format, "type");
  if (type == "text") return CustomFormat();
  if (type != "grammar") return in_field("format", in_field("type", wrong_value("expected text or grammar")));
  const json::value* inner = format.if_contains("grammar");
  if (inner != nullptr && !inner->is_object())
    return in_field("format", in_field("grammar", wrong_type("an object", *inner)));
  const std::string place = inner != nullptr ? "format.grammar" : "format";
  auto read = read_grammar(inner != nullptr ? inner->get_object() : format, "." + place);
  if (!read.ok()) return in_field(place, std::move(read).error());
  return read;
}

json::object function_of_custom(const json::object& tool, const CustomFormat& format) {
  json::object input{{"type", "string"}};
  if (!format.pattern.empty()) input["pattern"] = format.pattern;
  json::object function;
  for (const char* key : {"name", "description", "allowed_callers", "async", "defer_loading"})
    if (const json::value* value = tool.if_contains(key); value != nullptr && !value->is_null())
      function[key] = *value;
  const json::value* description = function.if_contains("description");
  if (!format.lark.empty() && (description == nullptr || description->is_string())) {
    std::string text = description == nullptr ? "" : std::string(description->get_string()) + "\n";
    text += fmt::format("The input follows this Lark grammar:\n{}", format.lark);
    function["description"] = text;
  }
  function["parameters"] = {{"type", "object"},
                            {"properties", json::object{{kCustomInput, std::move(input)}}},
                            {"required", json::array{kCustomInput}},
                            {"additionalProperties", false}};
  return function;
}

std::string flat_tool_name(std::string_view name_space, std::string_view name) {
  if (name_space.empty()) return std::string(name);
  const std::string_view separator = name_space.ends_with("__") ? "" : "__";
  return fmt::format("{}{}{}", name_space, separator, name);
}

}  // namespace kvasir::api

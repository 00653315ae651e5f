#include "text/answer/tool_call.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kvasir::text {
namespace {

namespace json = base::json;

constexpr std::array<std::string_view, 7> kKeys{"name", "arguments", "parameters", "function",
                                                "type", "id",        "tool_calls"};

const json::value* find_arguments(const json::object& object) {
  const json::value* arguments = object.if_contains("arguments");
  return arguments != nullptr ? arguments : object.if_contains("parameters");
}

std::optional<ToolCall> call_of_object(const json::object& outer, const AnswerSyntax& syntax,
                                       CallEvidence evidence) {
  const json::value* function = outer.if_contains("function");
  const json::object& object = function != nullptr && function->is_object() ? function->get_object() : outer;
  const json::value* name =
      function != nullptr && function->is_string() ? function : object.if_contains("name");
  if (name == nullptr || !name->is_string()) return std::nullopt;
  const AnswerSyntax::Tool* tool = syntax.find(name->get_string());
  if (tool == nullptr) return std::nullopt;
  const json::value* given = find_arguments(object);
  if (given == nullptr && evidence == CallEvidence::resembling) return std::nullopt;
  json::value arguments = given == nullptr ? json::value(json::object()) : *given;
  if (arguments.is_string()) {
    auto parsed = base::parse_json(arguments.get_string());
    if (!parsed.ok()) return std::nullopt;
    arguments = std::move(*parsed);
  }
  if (!arguments.is_object()) return std::nullopt;
  if (evidence == CallEvidence::resembling && tool->fits && !tool->fits(arguments)) return std::nullopt;
  return ToolCall{tool->name, base::json_text(arguments)};
}

// Skips blanks. Returns false at the end of the text.
bool skip_blanks(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  text.remove_prefix(std::min(begin, text.size()));
  return !text.empty();
}

// Reads a string without escapes. Absent if the end of the string has not come yet.
std::optional<std::string_view> read_word(std::string_view& text) {
  const std::size_t end = text.find('"');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end + 1);
  return word;
}

}  // namespace

std::optional<std::vector<ToolCall>> calls_of_json(const json::value& value, const AnswerSyntax& syntax,
                                                   CallEvidence evidence) {
  std::vector<ToolCall> calls;
  if (const json::object* object = value.if_object()) {
    const json::value* list = object->if_contains("tool_calls");
    if (list != nullptr && list->is_array()) return calls_of_json(*list, syntax, evidence);
    auto call = call_of_object(*object, syntax, evidence);
    if (!call) return std::nullopt;
    calls.push_back(std::move(*call));
    return calls;
  }
  const json::array* list = value.if_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  for (const json::value& item : *list) {
    if (!item.is_object()) return std::nullopt;
    auto call = call_of_object(item.get_object(), syntax, evidence);
    if (!call) return std::nullopt;
    calls.push_back(std::move(*call));
  }
  return calls;
}

Outlook outlook_of(std::string_view text, const AnswerSyntax& syntax) {
  const auto expect = [&](char c) {
    if (!skip_blanks(text)) return Outlook::open;
    if (text.front() != c) return Outlook::hopeless;
    text.remove_prefix(1);
    return Outlook::plausible;
  };
  if (skip_blanks(text) && text.front() == '[') text.remove_prefix(1);
  for (const char c : {'{', '"'})
    if (const Outlook seen = expect(c); seen != Outlook::plausible) return seen;
  const auto key = read_word(text);
  if (!key) {
    const bool possible = std::ranges::any_of(kKeys, [&](auto known) { return known.starts_with(text); });
    return possible ? Outlook::open : Outlook::hopeless;
  }
  if (std::ranges::find(kKeys, *key) == kKeys.end()) return Outlook::hopeless;
  if (*key != "name") return Outlook::plausible;
  for (const char c : {':', '"'})
    if (const Outlook seen = expect(c); seen != Outlook::plausible) return seen;
  const auto name = read_word(text);
  if (name) return syntax.find(*name) != nullptr ? Outlook::plausible : Outlook::hopeless;
  const bool possible =
      std::ranges::any_of(syntax.tools, [&](const auto& tool) { return tool.name.starts_with(text); });
  return possible ? Outlook::open : Outlook::hopeless;
}

}  // namespace kvasir::text

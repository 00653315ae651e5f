#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer/question/tools.h"
#include "api/anthropic/messages_request.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

std::string_view text_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

// Knows which tools the messages have added, and which they have removed. A tool with `defer_loading` is
// offered once a `tool_reference` in a tool's result or a `tool_addition` names it.
class ToolChanges {
 public:
  explicit ToolChanges(const json::object& body) {
    const json::value* messages = body.if_contains("messages");
    if (messages == nullptr || !messages->is_array()) return;
    for (const json::value& message : messages->get_array()) {
      const json::value* content =
          message.is_object() ? message.get_object().if_contains("content") : nullptr;
      if (content != nullptr) read_blocks(*content);
    }
  }

  bool offers(const json::object& tool) const {
    const auto found = available_.find(text_at(tool, "name"));
    if (found != available_.end()) return found->second;
    const json::value* deferred = tool.if_contains("defer_loading");
    return deferred == nullptr || *deferred != true;
  }

 private:
  void read_blocks(const json::value& content) {
    if (!content.is_array()) return;
    for (const json::value& value : content.get_array()) {
      if (!value.is_object()) continue;
      const json::object& block = value.get_object();
      const std::string_view type = text_at(block, "type");
      const json::value* inner = block.if_contains(type == "tool_result" ? "content" : "tool");
      if (type == "tool_reference") available_[std::string(text_at(block, "tool_name"))] = true;
      if (type == "tool_result" && inner != nullptr) read_blocks(*inner);
      if ((type == "tool_addition" || type == "tool_removal") && inner != nullptr && inner->is_object())
        available_[std::string(text_at(inner->get_object(), "name"))] = type == "tool_addition";
    }
  }

  std::map<std::string, bool, std::less<>> available_;  // by name; the last change counts
};

// Converts {"name", "description", "input_schema"} to OpenAI's form.
Result<json::object> as_function(const json::value& value) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& tool = value.get_object();
  if (const json::value* type = tool.if_contains("type"); type != nullptr && !type->is_null())
    if (!type->is_string() || type->get_string() != "custom")
      return in_field("type", unknown_tool_type(*type));
  const json::value* schema = tool.if_contains("input_schema");
  if (schema == nullptr || schema->is_null()) return in_field("input_schema", missing("a JSON schema"));
  json::object function;
  for (const char* key : {"name", "description", "strict", "input_examples", "allowed_callers"})
    if (const json::value* part = tool.if_contains(key)) function[key] = *part;
  function["parameters"] = *schema;
  return json::object{{"type", "function"}, {"function", std::move(function)}};
}

Status add_choice(const json::value& value, json::object& chat) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& choice = value.get_object();
  const json::value* type = choice.if_contains("type");
  const std::string_view word =
      type != nullptr && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
  if (word == "auto" || word == "none") {
    chat["tool_choice"] = word;
  } else if (word == "any") {
    chat["tool_choice"] = "required";
  } else if (word == "tool") {
    json::object function;
    if (const json::value* name = choice.if_contains("name")) function["name"] = *name;
    chat["tool_choice"] = json::object{{"type", "function"}, {"function", std::move(function)}};
  } else {
    return in_field("type", wrong_value("expected auto, any, tool or none"));
  }
  if (const json::value* alone = choice.if_contains("disable_parallel_tool_use");
      alone != nullptr && !alone->is_null()) {
    auto flag = read_bool(*alone);
    if (!flag.ok()) return in_field("disable_parallel_tool_use", std::move(flag).error());
    chat["parallel_tool_calls"] = !*flag;
  }
  return base::ok();
}

}  // namespace

Result<ToolSettings> read_anthropic_tools(const json::object& body) {
  json::object chat;
  if (const json::value* tools = body.if_contains("tools"); tools != nullptr && !tools->is_null()) {
    if (!tools->is_array()) return in_field("tools", wrong_type("an array of tools", *tools));
    const ToolChanges changes(body);
    json::array functions;
    for (std::size_t i = 0; i < tools->get_array().size(); ++i) {
      const json::value& tool = tools->get_array()[i];
      auto function = as_function(tool);
      if (!function.ok())
        return in_field("tools", in_field(fmt::format("[{}]", i), std::move(function).error()));
      if (changes.offers(tool.get_object())) functions.push_back(std::move(*function));
    }
    chat["tools"] = std::move(functions);
  }
  if (const json::value* choice = body.if_contains("tool_choice"); choice != nullptr && !choice->is_null())
    if (Status status = add_choice(*choice, chat); !status.ok())
      return in_field("tool_choice", std::move(status).error());
  if (const json::value* names = body.if_contains("server_tools")) chat["server_tools"] = *names;
  return read_flat_tools(chat, "input_schema");
}

}  // namespace kvasir::api

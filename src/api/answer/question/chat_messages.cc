#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/answer/question/chat_request.h"
#include "api/answer/question/custom_tools.h"
#include "api/answer/shape/custom_input.h"

namespace kvasir::api {

using base::Result;
using base::Status;

namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

constexpr const char* kRoleNames = "one of system, developer, user, assistant, tool";
constexpr const char* kContentShapes = "a string or an array of parts";
constexpr const char* kPartShape =
    "an object with a \"type\", such as {\"type\": \"text\", \"text\": \"...\"}";

// Templates take only plain text, so every part becomes text, even a refusal.
Status read_part(json::value& part) {
  json::object* object = part.if_object();
  if (object == nullptr) return wrong_type(kPartShape, part);
  const json::value* type = object->if_contains("type");
  if (type == nullptr) return missing(kPartShape);
  if (!type->is_string()) return wrong_type("a string \"type\"", *type);
  const std::string name(type->get_string());
  if (name != "text" && name != "refusal")
    return not_supported(fmt::format("content of type \"{}\" is", name));
  json::value* value = object->if_contains(name);
  const std::string expected = fmt::format("a string \"{}\"", name);
  if (value == nullptr) return missing(expected);
  if (!value->is_string()) return wrong_type(expected, *value);
  part = json::object{{"type", "text"}, {"text", std::move(*value)}};
  return base::ok();
}

Status read_parts(json::array& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (Status status = read_part(parts[i]); !status.ok())
      return in_field(fmt::format("[{}]", i), std::move(status).error());
  return base::ok();
}

bool is_missing(const json::value* value) {
  return value == nullptr || value->is_null();
}

Status read_content(json::object& message, std::string_view role) {
  json::value* content = message.if_contains("content");
  const json::value* refusal = message.if_contains("refusal");
  if (!is_missing(refusal) && !refusal->is_string())
    return in_field("refusal", wrong_type("a string", *refusal));
  if (is_missing(content)) {
    if (role == "assistant" && !is_missing(refusal)) {
      message["content"] = std::string(refusal->get_string());
      return base::ok();
    }
    if (role == "assistant" && !is_missing(message.if_contains("tool_calls"))) {
      message["content"] = "";  // many templates append to the content without checking that it exists
      return base::ok();
    }
    return in_field("content", missing(kContentShapes));
  }
  if (content->is_string()) return base::ok();
  if (!content->is_array()) return in_field("content", wrong_type(kContentShapes, *content));
  if (Status status = read_parts(content->get_array()); !status.ok())
    return in_field("content", std::move(status).error());
  return base::ok();
}

// Turns a call of a custom tool into a call of a function, since templates know only functions.
Status read_custom_call(json::object& call) {
  const json::value& custom = call.at("custom");
  const json::value* name = custom.is_object() ? custom.get_object().if_contains("name") : nullptr;
  const json::value* input = custom.is_object() ? custom.get_object().if_contains("input") : nullptr;
  if (name == nullptr || !name->is_string() || input == nullptr || !input->is_string())
    return wrong_type("a \"custom\" with a \"name\" and an \"input\"", custom);
  json::object function{{"name", *name}, {"arguments", custom_arguments(input->get_string())}};
  call.erase("custom");
  call["type"] = "function";
  call["function"] = std::move(function);
  return base::ok();
}

// Parses the arguments of calls. Templates write them with `tojson`, which would quote a string of JSON a
// second time.
Status read_tool_calls(json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  if (is_missing(calls)) return base::ok();
  if (!calls->is_array()) return wrong_type("an array", *calls);
  for (json::value& call : calls->get_array()) {
    json::object* object = call.if_object();
    if (object != nullptr && object->contains("custom")) TRY_OK(read_custom_call(*object));
    json::value* function = object == nullptr ? nullptr : object->if_contains("function");
    if (function == nullptr || !function->is_object())
      return wrong_type("objects with a \"function\"", function == nullptr ? call : *function);
    json::value* arguments = function->get_object().if_contains("arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    auto parsed = base::parse_json(arguments->get_string());
    if (parsed.ok() && parsed->is_object()) *arguments = std::move(*parsed);
  }
  return base::ok();
}

Status read_message(json::value& value) {
  if (!value.is_object()) return wrong_type("an object", value);
  json::object& message = value.get_object();
  const json::value* role = message.if_contains("role");
  if (is_missing(role)) return in_field("role", missing(kRoleNames));
  if (!role->is_string()) return in_field("role", wrong_type(kRoleNames, *role));
  const std::string name(role->get_string());
  if (std::find(kRoles.begin(), kRoles.end(), name) == kRoles.end())
    return in_field("role", wrong_value(fmt::format("expected {}, got \"{}\"", kRoleNames, name)));
  for (const char* old : {"audio", "function_call"})
    if (!is_missing(message.if_contains(old)))
      return in_field(
          old, not_supported(*old == 'a' ? "earlier speech is" : "this old field (use \"tool_calls\") is"));
  if (name == "developer") message["role"] = "system";
  TRY_OK(read_content(message, name));
  if (Status status = read_tool_calls(message); !status.ok())
    return in_field("tool_calls", std::move(status).error());
  return base::ok();
}

}  // namespace

// Several parts become the lines of one text; other servers join them in the same way.
std::string content_text(const json::object& message) {
  const json::value* content = message.if_contains("content");
  if (content == nullptr || content->is_null()) return {};
  if (content->is_string()) return std::string(content->get_string());
  std::string text;
  for (const json::value& part : content->get_array()) {
    if (!text.empty()) text += '\n';
    text += part.at("text").get_string();
  }
  return text;
}

void fit_messages(const text::MessageShape& shape, json::array& messages) {
  for (json::value& value : messages) {
    json::object& message = value.get_object();
    json::value* content = message.if_contains("content");
    json::value* calls = message.if_contains("tool_calls");
    const bool has_calls = calls != nullptr && calls->is_array() && !calls->get_array().empty();
    if (content != nullptr && content->is_array() && shape.content == text::ContentShape::text)
      *content = content_text(message);
    else if (content != nullptr && content->is_string() && shape.content == text::ContentShape::parts)
      *content = json::array{json::object{{"type", "text"}, {"text", std::move(*content)}}};
    if (!has_calls) continue;
    if (shape.calls_without_content && content != nullptr && *content == "") *content = nullptr;
    if (!shape.arguments_as_text) continue;
    for (json::value& call : calls->get_array()) {
      json::value* function = call.is_object() ? call.get_object().if_contains("function") : nullptr;
      if (function == nullptr || !function->is_object()) continue;
      json::value* arguments = function->get_object().if_contains("arguments");
      if (arguments != nullptr && !arguments->is_string()) *arguments = base::json_text(*arguments);
    }
  }
}

Result<json::array> read_messages(json::value& value) {
  if (!value.is_array()) return in_field("messages", wrong_type("an array of messages", value));
  json::array& messages = value.get_array();
  if (messages.empty()) return in_field("messages", wrong_value("expected at least one message"));
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (Status status = read_message(messages[i]); !status.ok())
      return in_field("messages", in_field(fmt::format("[{}]", i), std::move(status).error()));
  return std::move(messages);
}

}  // namespace kvasir::api

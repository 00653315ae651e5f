#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/chat_request.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

Error wrong(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message), {}, "invalid_value"};
}

// A part's text; several are lines of one content, as the ecosystem joins them.
Status append_part(const json::value& part, std::string& text) {
  const json::object* object = part.if_object();
  const json::value* type = object == nullptr ? nullptr : object->if_contains("type");
  if (type == nullptr || !type->is_string())
    return wrong("expected an object with a \"type\", such as {\"type\": \"text\", \"text\": \"...\"}");
  const std::string_view name = type->get_string();
  if (name != "text" && name != "refusal")
    return not_supported(fmt::format("content of type \"{}\" is", name));
  const json::value* value = object->if_contains(name);
  if (value == nullptr || !value->is_string()) return wrong(fmt::format("expected a string \"{}\"", name));
  if (!text.empty()) text += '\n';
  text += value->get_string();
  return base::ok();
}

Status join_parts(json::value& content) {
  std::string text;
  const json::array& parts = content.get_array();
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (Status status = append_part(parts[i], text); !status.ok())
      return in_field(fmt::format("[{}]", i), std::move(status).error());
  content = text;
  return base::ok();
}

bool is_missing(const json::value* value) {
  return value == nullptr || value->is_null();
}

Status read_content(json::object& message, std::string_view role) {
  json::value* content = message.if_contains("content");
  if (is_missing(content)) {
    if (role == "assistant" && !is_missing(message.if_contains("tool_calls"))) {
      message["content"] = nullptr;
      return base::ok();
    }
    return in_field("content", wrong("it is missing; expected a string or an array of parts"));
  }
  if (content->is_string()) return base::ok();
  if (!content->is_array())
    return in_field("content",
                    wrong(fmt::format("expected a string or an array of parts, got {}", kind_of(*content))));
  if (Status status = join_parts(*content); !status.ok())
    return in_field("content", std::move(status).error());
  return base::ok();
}

// Templates write arguments with `tojson`; a string of JSON would come out quoted twice.
Status read_tool_calls(json::object& message) {
  json::value* calls = message.if_contains("tool_calls");
  if (is_missing(calls)) return base::ok();
  if (!calls->is_array()) return wrong(fmt::format("expected an array, got {}", kind_of(*calls)));
  for (json::value& call : calls->get_array()) {
    json::object* object = call.if_object();
    json::value* function = object == nullptr ? nullptr : object->if_contains("function");
    if (function == nullptr || !function->is_object()) return wrong("expected objects with a \"function\"");
    json::value* arguments = function->get_object().if_contains("arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    auto parsed = base::parse_json(arguments->get_string());
    if (parsed.ok() && parsed->is_object()) *arguments = std::move(*parsed);
  }
  return base::ok();
}

Status read_message(json::value& value) {
  if (!value.is_object()) return wrong(fmt::format("expected an object, got {}", kind_of(value)));
  json::object& message = value.get_object();
  const json::value* role = message.if_contains("role");
  if (role == nullptr || !role->is_string())
    return in_field("role", wrong("it is missing; expected one of system, developer, user, assistant, tool"));
  const std::string name(role->get_string());
  if (std::find(kRoles.begin(), kRoles.end(), name) == kRoles.end())
    return in_field(
        "role",
        wrong(fmt::format("expected one of system, developer, user, assistant, tool, got \"{}\"", name)));
  if (name == "developer") message["role"] = "system";
  TRY_OK(read_content(message, name));
  if (Status status = read_tool_calls(message); !status.ok())
    return in_field("tool_calls", std::move(status).error());
  return base::ok();
}

}  // namespace

Result<json::array> read_messages(json::value& value) {
  if (!value.is_array())
    return in_field("messages", wrong(fmt::format("expected an array, got {}", kind_of(value))));
  json::array& messages = value.get_array();
  if (messages.empty()) return in_field("messages", wrong("expected at least one message"));
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (Status status = read_message(messages[i]); !status.ok())
      return in_field("messages", in_field(fmt::format("[{}]", i), std::move(status).error()));
  return std::move(messages);
}

}  // namespace kvasir::api

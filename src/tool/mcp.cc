#include "tool/mcp.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kvasir::tool {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::array<std::string_view, 4> kVersions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                       "2024-11-05"};
constexpr std::string_view kAskedVersion = "2025-06-18";
constexpr int kMaxPages = 64;
constexpr std::size_t kMaxTools = 512;
constexpr std::int64_t kMethodNotFound = -32601;

std::string string_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Reads one entry of the server's list. Absent if the entry is not a tool.
std::optional<Definition> definition_of(const json::value& value) {
  const json::object* tool = value.if_object();
  if (tool == nullptr) return std::nullopt;
  Definition definition;
  definition.name = string_at(*tool, "name");
  definition.description = string_at(*tool, "description");
  if (definition.description.empty()) definition.description = string_at(*tool, "title");
  if (definition.name.empty()) return std::nullopt;
  const json::value* schema = tool->if_contains("inputSchema");
  definition.parameters = json::object{{"type", "object"}, {"properties", json::object()}};
  if (schema != nullptr && schema->is_object()) definition.parameters = *schema;
  definition.parameters.get_object().erase("$schema");
  return definition;
}

// Returns the text of one item of a result.
std::string text_of(const json::value& item) {
  const json::object* object = item.if_object();
  if (object == nullptr) return {};
  const std::string type = string_at(*object, "type");
  if (type == "text") return string_at(*object, "text");
  if (type == "resource") {
    const json::value* resource = object->if_contains("resource");
    if (resource != nullptr && resource->is_object() && resource->get_object().contains("text"))
      return string_at(resource->get_object(), "text");
  }
  if (type == "resource_link") return string_at(*object, "uri");
  return fmt::format("[{} left out: only text is read]", type.empty() ? "something" : bounded_text(type, 40));
}

}  // namespace

json::object request_message(std::int64_t id, std::string_view method, json::object params) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}

json::object notification_message(std::string_view method, json::object params) {
  json::object message{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.empty()) message["params"] = std::move(params);
  return message;
}

Result<std::vector<json::object>> read_messages(std::string_view text) {
  auto value = base::parse_json(text);
  if (!value.ok()) return base::error(ErrorCode::corrupt, "the tool server sent what is no message");
  std::vector<json::object> messages;
  if (json::object* object = value->if_object()) messages.push_back(std::move(*object));
  if (json::array* batch = value->if_array())
    for (json::value& one : *batch)
      if (json::object* inside = one.if_object()) messages.push_back(std::move(*inside));
  return messages;
}

Result<json::object> result_of(json::object answer) {
  if (const json::value* error = answer.if_contains("error"); error != nullptr && error->is_object()) {
    const json::value* code = error->get_object().if_contains("code");
    return base::error(ErrorCode::invalid_argument, "the tool server refused: {} ({})",
                       bounded_text(string_at(error->get_object(), "message"), 1024),
                       code != nullptr && code->is_int64() ? code->get_int64() : 0);
  }
  json::value* result = answer.if_contains("result");
  if (result == nullptr || !result->is_object())
    return base::error(ErrorCode::corrupt, "the tool server's answer has no result");
  return std::move(result->get_object());
}

json::object answer_to(const json::object& request) {
  json::object answer{{"jsonrpc", "2.0"}, {"id", request.at("id")}};
  if (string_at(request, "method") == "ping")
    answer["result"] = json::object();
  else
    answer["error"] = json::object{{"code", kMethodNotFound}, {"message", "Method not found"}};
  return answer;
}

asio::awaitable<Status> open_session(McpTransport& transport, Lifeline& line) {
  json::object params{{"protocolVersion", kAskedVersion},
                      {"capabilities", json::object()},
                      {"clientInfo", json::object{{"name", "kvasir"}, {"version", "1"}}}};
  Result<json::object> result = co_await transport.request("initialize", std::move(params), line);
  if (!result.ok()) co_return std::move(result).error();
  std::string version = string_at(*result, "protocolVersion");
  if (std::ranges::find(kVersions, version) == kVersions.end())
    co_return base::error(ErrorCode::unsupported, "the tool server speaks version '{}' of the protocol",
                          bounded_text(version, 40));
  transport.set_version(std::move(version));
  Status told = co_await transport.notify("notifications/initialized", {}, line);
  co_return told;
}

asio::awaitable<Result<std::vector<Definition>>> list_tools(McpTransport& transport, Lifeline& line) {
  std::vector<Definition> tools;
  std::string cursor;
  for (int page = 0; page < kMaxPages; ++page) {
    json::object params;
    if (!cursor.empty()) params["cursor"] = cursor;
    Result<json::object> result = co_await transport.request("tools/list", std::move(params), line);
    if (!result.ok()) co_return std::move(result).error();
    const json::value* list = result->if_contains("tools");
    if (list == nullptr || !list->is_array())
      co_return base::error(ErrorCode::corrupt, "the tool server's list has no tools");
    for (const json::value& value : list->get_array())
      if (std::optional<Definition> definition = definition_of(value))
        tools.push_back(std::move(*definition));
    cursor = string_at(*result, "nextCursor");
    if (cursor.empty() || tools.size() > kMaxTools) break;
  }
  if (tools.size() > kMaxTools) tools.resize(kMaxTools);
  co_return tools;
}

json::object trace_meta(const obs::TraceHeaders& trace) {
  json::object meta{{"traceparent", trace.traceparent}};
  if (!trace.tracestate.empty()) meta["tracestate"] = trace.tracestate;
  return meta;
}

obs::TraceHeaders trace_of(const json::object& message) {
  obs::TraceHeaders trace;
  const json::value* const params = message.if_contains("params");
  const json::value* const meta =
      params != nullptr && params->is_object() ? params->get_object().if_contains("_meta") : nullptr;
  if (meta == nullptr || !meta->is_object()) return trace;
  const auto text = [meta](std::string_view name) {
    const json::value* const value = meta->get_object().if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  trace.traceparent = text("traceparent");
  trace.tracestate = text("tracestate");
  return trace;
}

Outcome outcome_of(const json::object& result, std::size_t max_bytes) {
  std::string text;
  const json::value* content = result.if_contains("content");
  if (content != nullptr && content->is_array())
    for (const json::value& item : content->get_array()) {
      if (!text.empty()) text += '\n';
      text += text_of(item);
    }
  const json::value* structured = result.if_contains("structuredContent");
  if (text.empty() && structured != nullptr && !structured->is_null()) text = base::json_text(*structured);
  const json::value* failed = result.if_contains("isError");
  return Outcome(failed != nullptr && failed->is_bool() && failed->get_bool(), bounded_text(text, max_bytes));
}

}  // namespace kvasir::tool

#include <string_view>
#include <utility>

#include "api/http/service/route.h"
#include "api/operations/endpoints.h"
#include "base/json.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace json = boost::json;

namespace {

std::string_view type_name(config::ToolConfig::Kind kind) {
  return kind == config::ToolConfig::Kind::http ? "http" : "mcp";
}

json::object describe_row(const tool::Toolbox::Row& row) {
  json::object object{{"id", row.name}, {"object", "server_tool"}, {"type", type_name(row.kind)}};
  object["ready"] = row.offers.ok();
  object["reason"] = row.offers.ok() ? json::value(nullptr) : json::value(row.offers.error().message);
  json::array functions;
  if (row.offers.ok())
    for (const tool::Definition& one : *row.offers)
      functions.push_back(
          json::object{{"name", one.name}, {"description", one.description}, {"parameters", one.parameters}});
  object["functions"] = std::move(functions);
  return object;
}

asio::awaitable<void> handle_list_server_tools(Service& service, Exchange& exchange) {
  json::array data;
  if (service.tools != nullptr)
    for (const tool::Toolbox::Row& row : service.tools->list()) data.push_back(describe_row(row));
  const json::object list{{"object", "list"}, {"data", std::move(data)}};
  net::HttpResponse response = net::HttpResponse::json(200, base::json_text(list));
  co_await reply(exchange, std::move(response));
}

constexpr NamedSchema kServerToolSchemas[] = {
    {"ServerToolCall", R"({"type": "object",
        "required": ["id", "round", "name", "arguments", "status", "output", "duration_ms"], "properties": {
          "id": {"type": "string"}, "round": {"type": "integer", "minimum": 1},
          "name": {"type": "string"}, "arguments": {"type": "string", "description": "As the model wrote them."},
          "status": {"enum": ["in_progress", "completed", "failed"]},
          "output": {"type": ["string", "null"], "description": "What the model was told."},
          "duration_ms": {"type": ["number", "null"]}}})"},
    {"ServerTools", R"({"type": "object", "required": ["object", "data"], "properties": {
        "object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object",
          "required": ["id", "object", "type", "ready", "reason", "functions"], "properties": {
            "id": {"type": "string", "description": "The name for `server_tools`."},
            "object": {"const": "server_tool"}, "type": {"enum": ["http", "mcp"]},
            "ready": {"type": "boolean"}, "reason": {"type": ["string", "null"]},
            "functions": {"type": "array", "items": {"type": "object",
              "required": ["name", "description", "parameters"], "properties": {
                "name": {"type": "string"}, "description": {"type": "string"},
                "parameters": {"type": "object"}}}}}}}}})"},
};

constexpr Answer kListed[] = {
    {200, "Each tool and tool server, and what a model is told of it.", "ServerTools"}};

constexpr Route kServerToolRoutes[] = {
    {.method = "GET",
     .path = "/v1/server_tools",
     .kind = RouteKind::view,
     .handle = handle_list_server_tools,
     .summary = "The tools that this server runs itself",
     .answers = kListed},
};

}  // namespace

RouteGroup server_tool_routes() {
  return {"Server tools", kServerToolRoutes, kServerToolSchemas};
}

}  // namespace kvasir::api

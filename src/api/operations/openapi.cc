#include "api/operations/openapi.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "api/http/json/object_schema.h"
#include "api/http/service/route.h"
#include "api/operations/endpoints.h"

namespace kvasir::api {

namespace asio = boost::asio;

namespace {

constexpr NamedSchema kSchemas[] = {
    {"Error", R"({"type": "object", "required": ["error"], "properties": {"error": {"type": "object",
        "required": ["message", "type", "param", "code"], "properties": {
          "message": {"type": "string"},
          "type": {"enum": ["invalid_request_error", "rate_limit_error", "server_error"]},
          "param": {"type": ["string", "null"], "description": "The field that it is about."},
          "code": {"type": ["string", "null"], "description": "A word for programs."}}}}})"},
};

struct ErrorStatus {
  int status;
  std::string_view description;
};
constexpr ErrorStatus kAnyErrors[] = {{404, "There is no such thing."}};
constexpr ErrorStatus kWorkErrors[] = {{400, "The request is wrong, or asks for what is not done here."},
                                       {413, "The request is too large."},
                                       {429, "Too many requests; see Retry-After."},
                                       {503, "The model is not ready, or the server is shutting down."}};

json::value schema_of(std::string_view schema) {
  if (schema.starts_with('{')) return schema_literal(schema);
  return json::object{{"$ref", "#/components/schemas/" + std::string(schema)}};
}

json::object& at_key(json::object& object, std::string_view key) {
  json::value& value = object[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

void add_answer(json::object& responses, const Answer& answer) {
  json::object& response = at_key(responses, std::to_string(answer.status));
  json::value& description = response["description"];
  if (description.is_null())
    description = answer.description;
  else
    description.get_string().append(" ").append(answer.description);
  if (answer.media.empty()) return;  // it has no body
  json::object& media = at_key(at_key(response, "content"), answer.media);
  json::value schema =
      answer.schema.empty() ? json::value(json::object{{"type", "string"}}) : schema_of(answer.schema);
  json::value& known = media["schema"];
  if (known.is_null())
    known = std::move(schema);
  else if (json::value* ways = known.get_object().if_contains("anyOf"))
    ways->get_array().push_back(std::move(schema));
  else
    known = json::object{{"anyOf", json::array{std::move(known), std::move(schema)}}};
}

std::string_view error_schema(ErrorStyle style) {
  if (style == ErrorStyle::ollama) return "OllamaError";
  return style == ErrorStyle::anthropic ? "AnthropicError" : "Error";
}

void add_error(json::object& responses, std::string_view status, std::string_view description,
               const Route& route) {
  if (responses.contains(status)) return;
  responses[status] = json::object{
      {"description", description},
      {"content",
       json::object{{"application/json", json::object{{"schema", schema_of(error_schema(route.errors))}}}}}};
}

json::object responses_of(const Route& route) {
  json::object responses;
  for (const Answer& answer : route.answers) add_answer(responses, answer);
  if (route.kind == RouteKind::work)
    for (const auto& [status, description] : kWorkErrors)
      add_error(responses, std::to_string(status), description, route);
  for (const auto& [status, description] : kAnyErrors)
    if (route.path.find('{') != route.path.npos || route.body != nullptr)
      add_error(responses, std::to_string(status), description, route);
  add_error(responses, "default", "Any other error.", route);
  return responses;
}

json::array parameters_of(const Route& route) {
  json::array list;
  std::string_view path = route.path;
  for (std::size_t begin = path.find('{'); begin != path.npos; begin = path.find('{')) {
    const std::size_t end = path.find('}', begin);
    list.push_back(json::object{{"name", path.substr(begin + 1, end - begin - 1)},
                                {"in", "path"},
                                {"required", true},
                                {"schema", json::object{{"type", "string"}, {"minLength", 1}}}});
    path.remove_prefix(end);
  }
  if (route.query == nullptr) return list;
  const json::object query = route.query();
  for (const auto& [name, schema] : query.at("properties").get_object()) {
    json::object parameter{{"name", name}, {"in", "query"}, {"schema", schema}};
    if (const json::value* required = query.if_contains("required"))
      parameter["required"] =
          std::ranges::find(required->get_array(), json::value(name)) != required->get_array().end();
    list.push_back(std::move(parameter));
  }
  return list;
}

// "POST /v1/conversations/{id}/messages" → "post_v1_conversations_id_messages". Code generators turn it into
// function names.
std::string operation_id(const Route& route) {
  std::string id;
  for (const char c : route.method) id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char c : route.path) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter)
      id += c;
    else if (id.back() != '_')
      id += '_';
  }
  if (id.back() == '_') id.pop_back();
  return id;
}

json::object operation_of(const Route& route, std::string_view group) {
  json::object operation{{"operationId", operation_id(route)},
                         {"summary", route.summary},
                         {"tags", json::array{json::value(group)}}};
  if (json::array parameters = parameters_of(route); !parameters.empty())
    operation["parameters"] = std::move(parameters);
  if (route.body != nullptr)
    operation["requestBody"] =
        json::object{{"required", !route.body_optional},
                     {"content", json::object{{route.body_media, json::object{{"schema", route.body()}}}}}};
  operation["responses"] = responses_of(route);
  // Only routes that need a key on every server are documented as needing one.
  if (route.scope == Scope::admin)
    operation["security"] =
        json::array{json::object{{"bearer", json::array()}}, json::object{{"x-api-key", json::array()}}};
  return operation;
}

json::object security_schemes() {
  return {{"bearer", json::object{{"type", "http"}, {"scheme", "bearer"}}},
          {"x-api-key", json::object{{"type", "apiKey"}, {"in", "header"}, {"name", "x-api-key"}}}};
}

}  // namespace

json::object openapi_document(std::span<const RouteGroup> groups) {
  json::object paths;
  json::object schemas;
  const auto add_schemas = [&](std::span<const NamedSchema> table) {
    for (const NamedSchema& named : table) schemas[named.name] = schema_literal(named.schema);
  };
  add_schemas(kSchemas);
  for (const RouteGroup& group : groups) {
    add_schemas(group.schemas);
    for (const Route& route : group.routes) {
      std::string method(route.method);
      std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
      at_key(paths, route.path)[method] = operation_of(route, group.name);
    }
  }
  return {
      {"openapi", "3.1.0"},
      {"info", json::object{{"title", "Kvasir"},
                            {"version", KVASIR_VERSION},
                            {"description",
                             "Large language models behind OpenAI's API. Where the server has API keys, "
                             "everything but its health needs one."}}},
      {"paths", std::move(paths)},
      {"components", json::object{{"schemas", std::move(schemas)}, {"securitySchemes", security_schemes()}}}};
}

asio::awaitable<void> handle_openapi(Service& service, Exchange& exchange) {
  co_await reply(exchange, net::HttpResponse::json(200, service.document));
}

}  // namespace kvasir::api

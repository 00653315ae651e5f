#include "api/answer/write/endpoints.h"
#include "api/http/json/page_query.h"
#include "api/http/service/route.h"
#include "api/responses/endpoints.h"
#include "api/responses/responses_request.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kResponsesSchemas[] = {
    {"Response", R"({"type": "object",
        "required": ["id", "object", "created_at", "status", "error", "incomplete_details", "model", "output",
                     "usage", "metadata"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "response"}, "created_at": {"type": "integer"},
          "background": {"type": "boolean"},
          "status": {"enum": ["completed", "incomplete", "failed", "in_progress", "queued", "cancelled"]},
          "error": {"type": ["object", "null"]}, "incomplete_details": {"type": ["object", "null"]},
          "kvasir": {"$ref": "#/components/schemas/Receipt"},
          "model": {"type": "string"}, "previous_response_id": {"type": ["string", "null"]},
          "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
          "output": {"type": "array", "items": {"type": "object", "required": ["id", "type", "status"],
            "properties": {
              "id": {"type": "string"}, "type": {"enum": ["message", "function_call", "mcp_call", "reasoning"]},
              "status": {"enum": ["completed", "incomplete", "failed"]}}}},
          "usage": {"type": ["object", "null"], "properties": {
            "input_tokens": {"type": "integer", "minimum": 0},
            "output_tokens": {"type": "integer", "minimum": 0},
            "total_tokens": {"type": "integer", "minimum": 0}}}}})"},
    {"InputTokens", R"({"type": "object", "required": ["object", "input_tokens"], "properties": {
        "object": {"const": "response.input_tokens"}, "input_tokens": {"type": "integer", "minimum": 0}}})"},
    {"DeletedResponse", R"({"type": "object", "required": ["id", "object", "deleted"], "properties": {
        "id": {"type": "string"}, "object": {"const": "response"}, "deleted": {"const": true}}})"},
    {"ResponseItems", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "has_more": {"type": "boolean"},
        "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
        "data": {"type": "array", "items": {"type": "object", "required": ["id", "type"]}}}})"},
};

constexpr std::string_view kStream = "text/event-stream";
constexpr Answer kResponse[] = {{200, "The response.", "Response"},
                                {200, "With `stream`: numbered events.", {}, kStream}};
constexpr Answer kStored[] = {{200, "The response.", "Response"},
                              {200, "With `stream`: its events once more.", {}, kStream}};
constexpr Answer kCancelled[] = {{200, "The response as it ended.", "Response"}};
constexpr Answer kCounted[] = {{200, "The number of tokens.", "InputTokens"}};
constexpr Answer kDeleted[] = {{200, "It is gone.", "DeletedResponse"}};
constexpr Answer kItems[] = {{200, "Its input, with what it went on from.", "ResponseItems"}};
constexpr Answer kEvents[] = {{200, "The stream's events after `after`, and those that come.", {}, kStream}};

constexpr Answer kCancelledStream[] = {
    {200, "Whether it still ran.",
     R"({"type": "object", "required": ["id", "object", "cancelled"], "properties": {"id": {"type": "string"},
         "object": {"const": "stream"}, "cancelled": {"type": "boolean"}}})"}};

constexpr Route kResponsesRoutes[] = {
    {.method = "POST",
     .path = "/v1/responses",
     .kind = RouteKind::work,
     .handle = handle_responses,
     .summary = "The model's response to an input",
     .answers = kResponse,
     .body = responses_body_schema,
     .errors = ErrorStyle::responses},
    {.method = "POST",
     .path = "/v1/responses/input_tokens",
     .kind = RouteKind::work,
     .handle = handle_count_response,
     .summary = "How many tokens a response's input has",
     .answers = kCounted,
     .body = responses_body_schema,
     .errors = ErrorStyle::responses},
    {.method = "GET",
     .path = "/v1/responses/{id}",
     .kind = RouteKind::view,
     .handle = handle_get_response,
     .summary = "A stored response",
     .answers = kStored,
     .query = response_query_schema},
    {.method = "DELETE",
     .path = "/v1/responses/{id}",
     .kind = RouteKind::view,
     .handle = handle_delete_response,
     .summary = "Forget a stored response",
     .answers = kDeleted},
    {.method = "POST",
     .path = "/v1/responses/{id}/cancel",
     .kind = RouteKind::view,
     .handle = handle_cancel_response,
     .summary = "Cancel a response that is generated in the background",
     .answers = kCancelled},
    {.method = "GET",
     .path = "/v1/responses/{id}/input_items",
     .kind = RouteKind::view,
     .handle = handle_response_items,
     .summary = "The input of a stored response",
     .answers = kItems,
     .query = list_query_schema},
    {.method = "GET",
     .path = "/v1/streams/{id}",
     .kind = RouteKind::view,
     .handle = handle_stream,
     .summary = "Go on reading a resumable stream",
     .answers = kEvents,
     .query = stream_query_schema},
    {.method = "DELETE",
     .path = "/v1/streams/{id}",
     .kind = RouteKind::view,
     .handle = handle_cancel_stream,
     .summary = "End a resumable stream",
     .answers = kCancelledStream},
};

}  // namespace

RouteGroup responses_routes() {
  return {"Responses", kResponsesRoutes, kResponsesSchemas};
}

}  // namespace kvasir::api

#include "api/endpoints.h"
#include "api/responses_request.h"
#include "api/routes.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kSchemas[] = {
    {"Response", R"({"type": "object",
        "required": ["id", "object", "created_at", "status", "error", "incomplete_details", "model", "output",
                     "usage", "metadata"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "response"}, "created_at": {"type": "integer"},
          "status": {"enum": ["completed", "incomplete", "failed", "in_progress"]},
          "error": {"type": ["object", "null"]}, "incomplete_details": {"type": ["object", "null"]},
          "model": {"type": "string"}, "previous_response_id": {"type": ["string", "null"]},
          "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
          "output": {"type": "array", "items": {"type": "object", "required": ["id", "type", "status"],
            "properties": {
              "id": {"type": "string"}, "type": {"enum": ["message", "function_call", "reasoning"]},
              "status": {"enum": ["completed", "incomplete"]}}}},
          "usage": {"type": ["object", "null"], "properties": {
            "input_tokens": {"type": "integer", "minimum": 0},
            "output_tokens": {"type": "integer", "minimum": 0},
            "total_tokens": {"type": "integer", "minimum": 0}}}}})"},
};

constexpr std::string_view kStream = "text/event-stream";
constexpr Answer kResponse[] = {{200, "The response.", "Response"},
                                {200, "With `stream`: numbered events.", {}, kStream}};
constexpr Answer kEvents[] = {{200, "The stream's events behind `after`, and those that come.", {}, kStream}};

constexpr Route kRoutes[] = {
    {.method = "POST",
     .path = "/v1/responses",
     .kind = RouteKind::work,
     .handle = handle_responses,
     .summary = "The model's response to an input",
     .answers = kResponse,
     .body = responses_body_schema},
    {.method = "GET",
     .path = "/v1/streams/{id}",
     .kind = RouteKind::view,
     .handle = handle_stream,
     .summary = "Go on reading a resumable stream",
     .answers = kEvents,
     .query = stream_query_schema},
};

}  // namespace

RouteGroup responses_routes() {
  return {"Responses", kRoutes, kSchemas};
}

}  // namespace kvasir::api

#include "api/anthropic/endpoints.h"
#include "api/anthropic/messages_request.h"
#include "api/http/service/route.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kAnthropicSchemas[] = {
    {"AnthropicError", R"({"type": "object", "required": ["type", "error"], "properties": {
        "type": {"const": "error"},
        "error": {"type": "object", "required": ["type", "message"], "properties": {
          "type": {"enum": ["invalid_request_error", "not_found_error", "request_too_large",
                            "rate_limit_error", "overloaded_error", "timeout_error", "api_error"]},
          "message": {"type": "string"}}}}})"},
    {"Message", R"({"type": "object",
        "required": ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"],
        "properties": {
          "id": {"type": "string"}, "type": {"const": "message"}, "role": {"const": "assistant"},
          "model": {"type": "string"},
          "content": {"type": "array", "items": {"type": "object", "required": ["type"], "properties": {
            "type": {"enum": ["text", "thinking", "tool_use"]},
            "text": {"type": "string"}, "thinking": {"type": "string"}, "signature": {"type": "string"},
            "id": {"type": "string"}, "name": {"type": "string"}, "input": {"type": "object"}}}},
          "stop_reason": {"enum": ["end_turn", "max_tokens", "stop_sequence", "tool_use"]},
          "stop_sequence": {"type": ["string", "null"]},
          "kvasir": {"$ref": "#/components/schemas/Receipt"},
          "usage": {"type": "object", "required": ["input_tokens", "output_tokens"], "properties": {
            "input_tokens": {"type": "integer", "minimum": 0,
                             "description": "Of the prompt, without those from the prefix cache."},
            "cache_creation_input_tokens": {"type": "integer", "minimum": 0},
            "cache_read_input_tokens": {"type": "integer", "minimum": 0},
            "output_tokens": {"type": "integer", "minimum": 0}}}}})"},
    {"MessageTokens", R"({"type": "object", "required": ["input_tokens"],
        "properties": {"input_tokens": {"type": "integer", "minimum": 0}}})"},
};

constexpr Answer kMessage[] = {{200, "The next message.", "Message"},
                               {200, "With `stream`: its blocks piece by piece.", {}, "text/event-stream"}};
constexpr Answer kTokens[] = {{200, "The number of tokens.", "MessageTokens"}};

constexpr Route kAnthropicRoutes[] = {
    {.method = "POST",
     .path = "/v1/messages",
     .kind = RouteKind::work,
     .handle = handle_messages,
     .summary = "The next message of a conversation, as Anthropic has it",
     .answers = kMessage,
     .body = messages_body_schema,
     .errors = ErrorStyle::anthropic},
    {.method = "POST",
     .path = "/v1/messages/count_tokens",
     .kind = RouteKind::work,
     .handle = handle_count_tokens,
     .summary = "How many tokens a conversation has",
     .answers = kTokens,
     .body = count_body_schema,
     .errors = ErrorStyle::anthropic},
};

}  // namespace

RouteGroup anthropic_routes() {
  return {"Anthropic", kAnthropicRoutes, kAnthropicSchemas};
}

}  // namespace kvasir::api

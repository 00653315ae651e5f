#include "api/http/service/route.h"
#include "api/llamacpp/endpoints.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kLlamacppSchemas[] = {
    {"InfillAnswer",
     R"({"type": "object", "description": "Fewer fields with `response_fields`.", "properties": {
        "index": {"type": "integer", "minimum": 0},
        "content": {"type": "string"},
        "tokens": {"type": "array", "maxItems": 0},
        "stop": {"const": true},
        "model": {"type": "string"},
        "tokens_predicted": {"type": "integer", "minimum": 0},
        "tokens_evaluated": {"type": "integer", "minimum": 0, "description": "Of the prompt."},
        "tokens_cached": {"type": "integer", "minimum": 0,
          "description": "Of the prompt, taken from the prefix cache."},
        "generation_settings": {"type": "object"},
        "has_new_line": {"type": "boolean"},
        "truncated": {"const": false},
        "stop_type": {"enum": ["eos", "limit", "word"]},
        "stopping_word": {"type": "string"},
        "timings": {"type": "object", "additionalProperties": {"type": "number"}},
        "warnings": {"type": "array", "items": {"type": "string"}}}})"},
    {"InfillAnswers", R"({"anyOf": [{"$ref": "#/components/schemas/InfillAnswer"},
        {"type": "array", "items": {"$ref": "#/components/schemas/InfillAnswer"}}]})"},
};

constexpr Answer kInfill[] = {
    {200, "What fills the gap; an array with `n` above 1.", "InfillAnswers"},
    {200, "With `stream`: pieces of it, of which the last has `stop`.", {}, "text/event-stream"}};

constexpr Route kLlamacppRoutes[] = {
    {.method = "POST",
     .path = "/infill",
     .kind = RouteKind::work,
     .handle = handle_infill,
     .summary = "Text that fills a gap, in llama.cpp's shape",
     .answers = kInfill,
     .body = infill_request_schema},
};

}  // namespace

RouteGroup llamacpp_routes() {
  return {"llama.cpp", kLlamacppRoutes, kLlamacppSchemas};
}

}  // namespace kvasir::api

#include "api/openai/openai_schemas.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kOpenaiSchemas[] = {
    {"Usage", R"({"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
        "properties": {
          "prompt_tokens": {"type": "integer", "minimum": 0},
          "completion_tokens": {"type": "integer", "minimum": 0},
          "total_tokens": {"type": "integer", "minimum": 0},
          "prompt_tokens_details": {"type": "object", "properties": {"cached_tokens": {
            "type": "integer", "minimum": 0,
            "description": "Of the prompt, taken from the prefix cache."}}}}})"},
    {"Receipt", R"({"type": "object", "description": "With `kvasir: {receipt: true}`.",
        "required": ["queued_ms", "prefill_ms", "cached_tokens", "preemptions", "moved", "predicted_ttft_ms",
                     "tenant_charge"],
        "properties": {
          "queued_ms": {"type": "number", "minimum": 0, "description": "From the engine to the first row."},
          "prefill_ms": {"type": "number", "minimum": 0, "description": "From then to the first token."},
          "cached_tokens": {"type": "integer", "minimum": 0},
          "preemptions": {"type": "integer", "minimum": 0},
          "moved": {"type": "integer", "minimum": 0,
            "description": "Times that it went on with another worker."},
          "predicted_ttft_ms": {"type": ["number", "null"]},
          "tenant_charge": {"type": "number", "minimum": 0,
            "description": "Tokens that the tenant was charged for in the fair share, over its weight."}}})"},
    {"ToolCall", R"({"anyOf": [
        {"type": "object", "required": ["id", "type", "function"], "properties": {
          "id": {"type": "string"}, "type": {"const": "function"},
          "function": {"type": "object", "required": ["name", "arguments"], "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "string", "description": "A JSON object as text."}}}}},
        {"type": "object", "required": ["id", "type", "custom"], "properties": {
          "id": {"type": "string"}, "type": {"const": "custom"},
          "custom": {"type": "object", "required": ["name", "input"], "properties": {
            "name": {"type": "string"}, "input": {"type": "string"}}}}}]})"},
    {"EarlierCall", R"({"anyOf": [
        {"type": "object", "required": ["function"], "properties": {"function": {"type": "object"}},
         "not": {"required": ["custom"]}},
        {"type": "object", "required": ["custom"], "properties": {
          "custom": {"type": "object", "required": ["name", "input"], "properties": {
            "name": {"type": "string"}, "input": {"type": "string"}}}}}]})"},
    {"TokenLogprob", R"({"type": "object", "required": ["token", "logprob", "bytes"], "properties": {
        "token": {"type": "string"}, "logprob": {"type": "number"},
        "bytes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
        "top_logprobs": {"type": "array", "items": {"$ref": "#/components/schemas/TokenLogprob"}}}})"},
    {"ChatCompletion", R"({"type": "object",
        "required": ["id", "object", "created", "model", "choices", "usage"], "properties": {
          "id": {"type": "string"}, "object": {"const": "chat.completion"},
          "created": {"type": "integer"}, "model": {"type": "string"},
          "system_fingerprint": {"type": "string"},
          "choices": {"type": "array", "items": {"type": "object",
            "required": ["index", "message", "logprobs", "finish_reason"], "properties": {
              "index": {"type": "integer"},
              "message": {"type": "object", "required": ["role", "content"], "properties": {
                "role": {"const": "assistant"}, "content": {"type": ["string", "null"]},
                "refusal": {"type": "null"}, "reasoning_content": {"type": "string"},
                "tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ToolCall"}}}},
              "logprobs": {"type": ["object", "null"], "properties": {"content": {
                "type": "array", "items": {"$ref": "#/components/schemas/TokenLogprob"}}}},
              "finish_reason": {"enum": ["stop", "length", "tool_calls"]}}}},
          "usage": {"$ref": "#/components/schemas/Usage"},
          "kvasir": {"$ref": "#/components/schemas/Receipt"},
          "server_tool_calls": {"type": "array", "items": {"$ref": "#/components/schemas/ServerToolCall"}}}})"},
    {"Completion", R"({"type": "object",
        "required": ["id", "object", "created", "model", "choices", "usage"], "properties": {
          "id": {"type": "string"}, "object": {"const": "text_completion"},
          "created": {"type": "integer"}, "model": {"type": "string"},
          "system_fingerprint": {"type": "string"},
          "choices": {"type": "array", "items": {"type": "object",
            "required": ["index", "text", "logprobs", "finish_reason"], "properties": {
              "index": {"type": "integer"}, "text": {"type": "string"},
              "logprobs": {"type": ["object", "null"], "properties": {
                "tokens": {"type": "array", "items": {"type": "string"}},
                "token_logprobs": {"type": "array", "items": {"type": ["number", "null"]}},
                "top_logprobs": {"type": "array", "items": {"type": ["object", "null"],
                                 "additionalProperties": {"type": "number"}}},
                "text_offset": {"type": "array", "items": {"type": "integer"}}}},
              "finish_reason": {"enum": ["stop", "length"]}}}},
          "usage": {"$ref": "#/components/schemas/Usage"},
          "kvasir": {"$ref": "#/components/schemas/Receipt"}}})"},
    {"Model", R"({"type": "object", "required": ["id", "object", "created", "owned_by", "ready", "state"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
          "owned_by": {"type": "string"}, "ready": {"type": "boolean"},
          "state": {"enum": ["unloaded", "queued", "downloading", "loading", "measuring", "ready", "leaving",
                             "failed", "restarting"]},
          "progress": {"type": "number", "description": "Of a download, 0 to 1."},
          "downloaded_bytes": {"type": "integer"}, "download_bytes": {"type": "integer"},
          "local": {"type": "boolean", "description": "Of one that is not loaded: its files are here."},
          "size_bytes": {"type": "integer", "description": "Of its files."},
          "description": {"type": "string", "description": "Of the catalogue."},
          "pinned": {"type": "boolean", "description": "It was named at the start, and leaves only when it is unloaded."},
          "memory": {"type": "object", "description": "What it takes, once it is ready.", "properties": {
            "bytes": {"type": "integer"}, "weights_bytes": {"type": "integer"}, "kv_bytes": {"type": "integer"},
            "workspace_bytes": {"type": "integer"}}},
          "reason": {"type": "string", "description": "Of a failure or a restart."},
          "task": {"enum": ["generate", "embed"], "description": "Of a ready model, as all that follows."},
          "fill_in_the_middle": {"type": "boolean", "description": "Of a model that generates: takes `suffix`."},
          "score_method": {"const": "cosine", "description": "Of a model that embeds: how it reranks and scores."},
          "max_model_len": {"type": "integer", "description": "Tokens of prompt and answer together."},
          "context_window": {"type": "integer", "description": "The same."},
          "limits": {"type": "object", "properties": {
            "max_output_tokens": {"type": "integer"}, "max_choices": {"type": "integer"},
            "max_inputs": {"type": "integer"}, "dimensions": {"type": "integer"}}},
          "default_sampling": {"type": "object", "description": "Used where a request says nothing of it.",
            "additionalProperties": {"type": "number"}},
          "capacity": {"type": "object", "properties": {
            "kv_tokens": {"type": "integer", "description": "That the KV cache holds."},
            "kv_tokens_free": {"type": "integer"}, "running": {"type": "integer"},
            "waiting": {"type": "integer"}, "progressing": {"type": "boolean"}}}}})"},
    {"ModelList", R"({"type": "object", "required": ["object", "data"], "properties": {
        "object": {"const": "list"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}})"},
    {"Tokens", R"({"type": "object", "required": ["count", "max_model_len", "tokens"], "properties": {
        "count": {"type": "integer", "minimum": 0}, "max_model_len": {"type": "integer"},
        "tokens": {"type": "array", "items": {"type": "integer"}},
        "token_strs": {"type": "array", "items": {"type": "string"}}}})"},
    {"DetokenizedText", R"({"type": "object", "required": ["prompt"],
        "properties": {"prompt": {"type": "string"}}})"},
    {"EmbeddingList", R"({"type": "object", "required": ["object", "data", "model", "usage"], "properties": {
        "object": {"const": "list"}, "model": {"type": "string"},
        "data": {"type": "array", "items": {"type": "object", "required": ["object", "index", "embedding"],
          "properties": {"object": {"const": "embedding"}, "index": {"type": "integer"},
            "embedding": {"anyOf": [{"type": "array", "items": {"type": "number"}},
              {"type": "string", "description": "Base64 of little-endian 32-bit floats."}]}}}},
        "usage": {"type": "object", "required": ["prompt_tokens", "total_tokens"], "properties": {
          "prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}}}}})"},
    {"Moderation", R"({"type": "object", "required": ["id", "model", "results", "warnings"], "properties": {
        "id": {"type": "string"}, "model": {"const": "none"},
        "results": {"type": "array", "items": {"type": "object",
          "required": ["flagged", "categories", "category_scores"], "properties": {
            "flagged": {"const": false},
            "categories": {"type": "object", "additionalProperties": {"const": false}},
            "category_scores": {"type": "object", "additionalProperties": {"const": 0}},
            "category_applied_input_types": {"type": "object"}}}},
        "warnings": {"type": "array", "minItems": 1, "items": {"type": "string"}}}})"},
};

}  // namespace

std::span<const NamedSchema> openai_schemas() {
  return kOpenaiSchemas;
}

}  // namespace kvasir::api

#include "api/http/service/route.h"
#include "api/ollama/endpoints.h"
#include "api/ollama/ollama_request.h"
#include "api/ollama/ollama_shape.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kOllamaSchemas[] = {
    {"OllamaError",
     R"({"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}})"},
    {"OllamaEnd", R"({"type": "object", "required": ["model", "created_at", "done"], "properties": {
        "model": {"type": "string"}, "created_at": {"type": "string"}, "done": {"type": "boolean"},
        "done_reason": {"enum": ["stop", "length", "load", "unload"]},
        "total_duration": {"type": "integer", "minimum": 0, "description": "In nanoseconds, as all of them."},
        "load_duration": {"type": "integer", "minimum": 0, "description": "Until the request's first step."},
        "prompt_eval_count": {"type": "integer", "minimum": 0},
        "prompt_eval_duration": {"type": "integer", "minimum": 0},
        "eval_count": {"type": "integer", "minimum": 0}, "eval_duration": {"type": "integer", "minimum": 0},
        "logprobs": {"type": "array", "items": {"type": "object"}},
        "kvasir": {"type": "object"}, "warnings": {"type": "array", "items": {"type": "string"}}}})"},
    {"OllamaMessage", R"({"allOf": [{"$ref": "#/components/schemas/OllamaEnd"},
        {"type": "object", "required": ["message"], "properties": {"message": {
          "type": "object", "required": ["role", "content"], "properties": {
            "role": {"const": "assistant"}, "content": {"type": "string"}, "thinking": {"type": "string"},
            "tool_calls": {"type": "array", "items": {"type": "object", "required": ["function"],
              "properties": {"id": {"type": "string"}, "function": {"type": "object",
                "required": ["name", "arguments"], "properties": {"index": {"type": "integer"},
                  "name": {"type": "string"}, "arguments": {"type": "object"}}}}}}}}}}]})"},
    {"OllamaResponse", R"({"allOf": [{"$ref": "#/components/schemas/OllamaEnd"},
        {"type": "object", "required": ["response"], "properties": {
          "response": {"type": "string"}, "thinking": {"type": "string"}}}]})"},
    {"OllamaDetails", R"({"type": "object", "properties": {"parent_model": {"type": "string"},
        "format": {"type": "string"}, "family": {"type": "string"},
        "families": {"type": "array", "items": {"type": "string"}}, "parameter_size": {"type": "string"},
        "quantization_level": {"type": "string"}}})"},
    {"OllamaModels", R"({"type": "object", "required": ["models"], "properties": {"models": {
        "type": "array", "items": {"type": "object", "required": ["name", "model", "size", "digest", "details"],
          "properties": {"name": {"type": "string"}, "model": {"type": "string"},
            "size": {"type": "integer", "minimum": 0}, "digest": {"type": "string"},
            "details": {"$ref": "#/components/schemas/OllamaDetails"},
            "modified_at": {"type": "string"}, "expires_at": {"type": "string"},
            "size_vram": {"type": "integer", "minimum": 0},
            "context_length": {"type": "integer", "minimum": 1}}}}}})"},
    {"OllamaModel",
     R"({"type": "object", "required": ["details", "model_info", "capabilities"], "properties": {
        "license": {"type": "string"}, "modelfile": {"type": "string"}, "parameters": {"type": "string"},
        "template": {"type": "string", "description": "Jinja, as the model's makers wrote it."},
        "details": {"$ref": "#/components/schemas/OllamaDetails"}, "model_info": {"type": "object"},
        "capabilities": {"type": "array",
                         "items": {"enum": ["completion", "tools", "insert", "thinking", "embedding"]}},
        "modified_at": {"type": "string"}}})"},
};

constexpr Answer kChat[] = {{200, "The next message.", "OllamaMessage"},
                            {200, "With `stream`: lines of it.", {}, kLines}};
constexpr Answer kGenerated[] = {{200, "What follows the prompt.", "OllamaResponse"},
                                 {200, "With `stream`: lines of it.", {}, kLines}};
constexpr Answer kEmbedded[] = {
    {200, "A vector for each text.",
     R"({"type": "object", "required": ["model", "embeddings"], "properties": {"model": {"type": "string"},
         "embeddings": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
         "total_duration": {"type": "integer"}, "load_duration": {"type": "integer"},
         "prompt_eval_count": {"type": "integer"}}})"}};
constexpr Answer kOldEmbedding[] = {{200, "The vector.",
                                     R"({"type": "object", "required": ["embedding"],
         "properties": {"embedding": {"type": "array", "items": {"type": "number"}}}})"}};
constexpr Answer kModels[] = {{200, "The models.", "OllamaModels"}};
constexpr Answer kModel[] = {{200, "The model.", "OllamaModel"}};
constexpr Answer kPulled[] = {
    {200, "It is here.",
     R"({"type": "object", "required": ["status"], "properties": {"status": {"const": "success"}}})"},
    {200, "With `stream`: lines of its progress.", {}, kLines}};
constexpr Answer kVersion[] = {{200, "The version of Ollama whose API this is, and Kvasir's own.",
                                R"({"type": "object", "required": ["version"],
         "properties": {"version": {"type": "string"}, "kvasir": {"type": "string"}}})"}};
constexpr Answer kNotOffered[] = {{404, "Models are not changed over HTTP.", "OllamaError"}};

constexpr Route work(std::string_view path, decltype(Route::handle) handle, std::string_view summary,
                     std::span<const Answer> answers, MakeSchema body) {
  return {.method = "POST",
          .path = path,
          .kind = RouteKind::work,
          .handle = handle,
          .summary = summary,
          .answers = answers,
          .body = body,
          .errors = ErrorStyle::ollama};
}

constexpr Route view(std::string_view path, decltype(Route::handle) handle, std::string_view summary,
                     std::span<const Answer> answers) {
  return {.method = "GET",
          .path = path,
          .kind = RouteKind::view,
          .handle = handle,
          .summary = summary,
          .answers = answers,
          .errors = ErrorStyle::ollama};
}

constexpr Route not_offered(std::string_view method, std::string_view path) {
  return {.method = method,
          .path = path,
          .kind = RouteKind::view,
          .handle = handle_ollama_not_offered,
          .summary = "Not offered: models are not changed over HTTP",
          .answers = kNotOffered,
          .errors = ErrorStyle::ollama};
}

constexpr Route pull() {
  Route route = work("/api/pull", handle_ollama_pull, "Fetch a model into the server's model folder", kPulled,
                     ollama_pull_schema);
  route.scope = Scope::machine;
  return route;
}

constexpr Route show() {
  Route route = work("/api/show", handle_ollama_show, "What a model is", kModel, ollama_show_schema);
  route.kind = RouteKind::view;
  return route;
}

constexpr Route version() {
  Route route = view("/api/version", handle_ollama_version, "The version of Ollama's API", kVersion);
  route.scope = Scope::anyone;
  return route;
}

constexpr Route kOllamaRoutes[] = {
    work("/api/chat", handle_ollama_chat, "The next message of a chat, as Ollama has it", kChat,
         ollama_chat_schema),
    work("/api/generate", handle_ollama_generate, "What follows a prompt, as Ollama has it", kGenerated,
         ollama_generate_schema),
    work("/api/embed", handle_ollama_embed, "Vectors of texts, as Ollama has it", kEmbedded,
         ollama_embed_schema),
    work("/api/embeddings", handle_ollama_embeddings, "The vector of a text, as Ollama once had it",
         kOldEmbedding, ollama_embeddings_schema),
    view("/api/tags", handle_ollama_tags, "The served models, as Ollama lists them", kModels),
    view("/api/ps", handle_ollama_ps, "The models that are loaded", kModels),
    show(),
    pull(),
    version(),
    not_offered("POST", "/api/create"),
    not_offered("POST", "/api/copy"),
    not_offered("POST", "/api/push"),
    not_offered("DELETE", "/api/delete"),
    not_offered("GET", "/api/blobs/{digest}"),
    not_offered("POST", "/api/blobs/{digest}"),
};

}  // namespace

RouteGroup ollama_routes() {
  return {"Ollama", kOllamaRoutes, kOllamaSchemas};
}

}  // namespace kvasir::api

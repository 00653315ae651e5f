#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"
#include "api/http/service/route.h"
#include "api/openai/embedding_request.h"
#include "api/openai/endpoints.h"
#include "api/openai/openai_schemas.h"

namespace kvasir::api {

namespace {

constexpr std::string_view kStream = "text/event-stream";

constexpr Answer kChat[] = {{200, "The next message.", "ChatCompletion"},
                            {200, "With `stream`: chunks of it, then [DONE].", {}, kStream}};
constexpr Answer kCompletion[] = {{200, "The text that follows.", "Completion"},
                                  {200, "With `stream`: chunks of it, then [DONE].", {}, kStream}};
constexpr Answer kModels[] = {{200, "Every model, ready or not.", "ModelList"}};
constexpr Answer kModel[] = {{200, "The model.", "Model"}};
constexpr Answer kChangedModel[] = {
    {200, "The model, once it is so.", "Model"},
    {200, "With `stream`: its state whenever that changes, the model, then [DONE].", {}, kStream}};
constexpr Answer kTokens[] = {{200, "The tokens.", "Tokens"}};
constexpr Answer kTokenizer[] = {
    {200, "What the tokenizer and the chat template are.", R"({"type": "object"})"}};
constexpr Answer kText[] = {{200, "The text.", "DetokenizedText"}};
constexpr Answer kEmbeddings[] = {{200, "A vector of length 1 for each text, in order.", "EmbeddingList"}};
constexpr Answer kModeration[] = {{200, "Nothing is flagged, for nothing was looked at.", "Moderation"}};

constexpr Route kOpenaiRoutes[] = {
    {.method = "POST",
     .path = "/v1/chat/completions",
     .kind = RouteKind::work,
     .handle = handle_chat,
     .summary = "The next message of a conversation",
     .answers = kChat,
     .body = chat_request_schema},
    {.method = "POST",
     .path = "/v1/completions",
     .kind = RouteKind::work,
     .handle = handle_completions,
     .summary = "Text that goes on from a prompt",
     .answers = kCompletion,
     .body = completion_request_schema},
    {.method = "POST",
     .path = "/v1/embeddings",
     .kind = RouteKind::work,
     .handle = handle_embeddings,
     .summary = "Vectors of texts",
     .answers = kEmbeddings,
     .body = embedding_request_schema},
    {.method = "POST",
     .path = "/v1/moderations",
     .kind = RouteKind::work,
     .handle = handle_moderations,
     .summary = "OpenAI's shape of a moderation; nothing is classified",
     .answers = kModeration,
     .body = moderation_request_schema},
    {.method = "GET",
     .path = "/v1/models",
     .kind = RouteKind::view,
     .handle = handle_list_models,
     .summary = "The models of this server",
     .answers = kModels},
    {.method = "GET",
     .path = "/v1/machine/models",
     .kind = RouteKind::view,
     .handle = handle_machine_models,
     .summary = "The same with all that could be loaded or pulled, for who runs the server",
     .answers = kModels,
     .scope = Scope::machine},
    {.method = "POST",
     .path = "/v1/models/load",
     .kind = RouteKind::view,  // a draining server does not wait for it
     .handle = handle_load_model,
     .summary = "Brings a model into memory",
     .answers = kChangedModel,
     .body = model_control_schema,
     .scope = Scope::machine},
    {.method = "POST",
     .path = "/v1/models/unload",
     .kind = RouteKind::view,
     .handle = handle_unload_model,
     .summary = "Lets a model leave once its requests have ended",
     .answers = kChangedModel,
     .body = model_control_schema,
     .scope = Scope::machine},
    {.method = "POST",
     .path = "/v1/models/pull",
     .kind = RouteKind::view,
     .handle = handle_pull_model,
     .summary = "Fetches the files of a model",
     .answers = kChangedModel,
     .body = model_control_schema,
     .scope = Scope::machine},
    {.method = "GET",
     .path = "/v1/models/{model}",
     .kind = RouteKind::view,
     .handle = handle_model,
     .summary = "One model",
     .answers = kModel,
     .takes_slashes = true},
    {.method = "POST",
     .path = "/v1/tokenize",
     .kind = RouteKind::work,
     .handle = handle_tokenize,
     .summary = "The tokens of a prompt or of messages",
     .answers = kTokens,
     .body = tokenize_request_schema},
    {.method = "POST",
     .path = "/v1/detokenize",
     .kind = RouteKind::work,
     .handle = handle_detokenize,
     .summary = "The text of tokens",
     .answers = kText,
     .body = detokenize_request_schema},
    {.method = "POST",
     .path = "/tokenize",
     .kind = RouteKind::work,
     .handle = handle_tokenize,
     .summary = "The same as /v1/tokenize, where clients of vLLM look for it",
     .answers = kTokens,
     .body = tokenize_request_schema},
    {.method = "POST",
     .path = "/detokenize",
     .kind = RouteKind::work,
     .handle = handle_detokenize,
     .summary = "The same as /v1/detokenize, where clients of vLLM look for it",
     .answers = kText,
     .body = detokenize_request_schema},
    {.method = "GET",
     .path = "/tokenizer_info",
     .kind = RouteKind::view,
     .handle = handle_tokenizer_info,
     .summary = "The tokenizer and the chat template of a model, as vLLM shows them",
     .answers = kTokenizer,
     .query = tokenizer_info_query_schema},
};

}  // namespace

RouteGroup openai_routes() {
  return {"OpenAI", kOpenaiRoutes, openai_schemas()};
}

}  // namespace kvasir::api

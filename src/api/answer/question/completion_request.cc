#include "api/answer/question/completion_request.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxLogprobs = 20;
constexpr int kDefaultMaxTokens = 16;  // OpenAI's default for this endpoint
constexpr const char* kPromptShapes = "a string, an array of strings, or arrays of token ids";

constexpr Field<CompletionRequest> kCompletionFields[] = {
    {"prompt", nullptr,
     R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer", "minimum": 0}},
          {"type": "array", "maxItems": 128, "items": {"anyOf": [{"type": "string"},
            {"type": "array", "items": {"type": "integer", "minimum": 0}}]}}],
         "description": "Text or token ids, or several of either."})",
     kPromptShapes},
    {"logprobs",
     [](const json::value& v, CompletionRequest& r) -> Status {
       // Some clients send false, which is a value of the chat API.
       if (v.is_bool() && !v.get_bool()) return base::ok();
       TRY(const std::int64_t number, read_integer(v, {0, kMaxLogprobs}));
       r.params.sampling.logprobs = true;
       r.params.sampling.num_top_logprobs = static_cast<int>(number);
       return base::ok();
     },
     R"({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 20}, {"enum": [false]}],
         "description": "Likeliest tokens to show at each place."})"},
    {"max_tokens", nullptr,
     R"({"type": "integer", "minimum": -1, "maximum": 2147483647, "default": 16,
         "description": "Of the answer; 0 together with `echo` only; -1: the rest of the context."})"},
    {"continue_final_message",
     [](const json::value& v, CompletionRequest&) -> Status {
       TRY(const bool wanted, read_bool(v));
       return wanted ? Status(not_supported("a last message outside of a chat is")) : base::ok();
     }},
    {"echo",
     [](const json::value& v, CompletionRequest& r) -> Status {
       TRY(r.echo, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": false,
         "description": "The prompt before the answer, in `logprobs` too."})"},
    {"suffix",
     [](const json::value& v, CompletionRequest& r) -> Status {
       TRY(std::string suffix, read_string(v));
       if (!suffix.empty()) r.infill = Infill{.suffix = std::move(suffix)};
       return base::ok();
     },
     R"({"type": "string",
         "description": "Text after the answer, which then fills the gap; only with a model that can."})"},
    {"best_of",
     [](const json::value& v, CompletionRequest& r) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, kMaxSequencesPerRequest}));
       r.params.best_of = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 128,
         "description": "Samples so many answers and gives the n likeliest by token; not with `stream`."})"},
    {"tools",
     [](const json::value& v, CompletionRequest&) -> Status {
       const bool none = v.is_array() && v.get_array().empty();
       return none ? base::ok() : Status(not_supported("calling tools outside of a chat is"));
     },
     R"({"type": "array", "maxItems": 0})"},
    {"server_tools",
     [](const json::value&, CompletionRequest&) -> Status {
       return not_supported("calling tools outside of a chat is");
     }},
    {"add_special_tokens",
     [](const json::value& v, CompletionRequest&) -> Status {
       TRY(const bool wanted, read_bool(v));
       return wanted ? base::ok() : Status(not_supported("leaving out the beginning token is"));
     },
     R"({"enum": [true]})"},
};

Result<std::vector<TokenId>> read_tokens(const json::array& array) {
  std::vector<TokenId> tokens;
  tokens.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    auto id = read_integer(array[i], {0, std::numeric_limits<TokenId>::max()});
    if (!id.ok()) return in_field(fmt::format("[{}]", i), std::move(id).error());
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

Result<TextOrTokens> read_text_or_tokens(json::value& value) {
  if (value.is_string()) return TextOrTokens(std::string(value.get_string()));
  if (!value.is_array()) return wrong_type(kPromptShapes, value);
  TRY(std::vector<TokenId> tokens, read_tokens(value.get_array()));
  return TextOrTokens(std::move(tokens));
}

}  // namespace

Result<std::vector<TextOrTokens>> read_texts_or_tokens(json::value& value, TextsField field) {
  std::vector<TextOrTokens> texts;
  const bool several =
      value.is_array() && !value.get_array().empty() && !value.get_array().front().is_number();
  if (!several) {
    auto text = read_text_or_tokens(value);
    if (!text.ok()) return in_field(field.name, std::move(text).error());
    texts.push_back(std::move(*text));
    return texts;
  }
  json::array& array = value.get_array();
  if (array.size() > field.max_texts)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} texts, got {}", field.max_texts, array.size()),
                 std::string(field.name), "array_above_max_length"};
  for (std::size_t i = 0; i < array.size(); ++i) {
    auto text = read_text_or_tokens(array[i]);
    if (!text.ok()) return in_field(field.name, in_field(fmt::format("[{}]", i), std::move(text).error()));
    texts.push_back(std::move(*text));
  }
  return texts;
}

namespace {

// A request with max_tokens of 0 and echo asks only for the logprobs of the prompt.
void take_zero_max_tokens(json::object& body, CompletionRequest& request) {
  json::value* max_tokens = body.if_contains("max_tokens");
  const json::value* echo = body.if_contains("echo");
  if (max_tokens == nullptr || echo == nullptr || *echo != true || *max_tokens != 0) return;
  *max_tokens = 1;
  request.prompt_alone = true;
}

Status check_together(const json::object& body, CompletionRequest& request) {
  GenerateParams& params = request.params;
  if (body.contains("best_of") && !body.at("best_of").is_null()) {
    if (params.best_of < params.n)
      return in_field("best_of", wrong_value(fmt::format("expected at least n = {}", params.n)));
    if (params.stream && params.best_of > params.n)
      return in_field("best_of", not_supported("a stream of the best of several is"));
  }
  if (request.infill && params.max_prompt_tokens)
    return in_field("truncate_prompt_tokens", not_supported("cutting a prompt that has a \"suffix\" is"));
  if (request.infill && request.echo && params.sampling.logprobs)
    return in_field("echo", not_supported("together with \"suffix\" and \"logprobs\" it is"));
  if (request.echo && params.sampling.logprobs)
    params.num_prompt_logprobs =
        std::max(params.num_prompt_logprobs.value_or(0), params.sampling.num_top_logprobs);
  return base::ok();
}

}  // namespace

namespace {

ObjectSchema describe_completion() {
  ObjectSchema schema;
  describe_params(schema);
  return schema.add<CompletionRequest>(kCompletionFields);
}

}  // namespace

Result<CompletionRequest> read_completion_request(json::object body) {
  CompletionRequest request;
  take_zero_max_tokens(body, request);
  TRY_OK(read_params(body, request.params));
  TRY_OK(read_fields<CompletionRequest>(body, kCompletionFields, request));
  TRY_OK(check_together(body, request));
  static const ObjectSchema known = describe_completion();
  known.warn_of_others(body, request.params.warnings);
  if (!request.params.max_tokens && !request.params.is_unlimited)
    request.params.max_tokens = kDefaultMaxTokens;
  TRY(request.prompts, read_texts_or_tokens(body.at("prompt"), {"prompt", kMaxSequencesPerRequest}));
  const auto num_sequences = static_cast<std::int64_t>(request.prompts.size()) * request.params.num_sampled();
  if (num_sequences > kMaxSequencesPerRequest)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} prompts times {} answers are over the limit of {}", request.prompts.size(),
                             request.params.num_sampled(), kMaxSequencesPerRequest),
                 request.params.best_of > request.params.n ? "best_of" : "n", "invalid_value"};
  return request;
}

json::object completion_request_schema() {
  return describe_completion().take();
}

}  // namespace kvasir::api

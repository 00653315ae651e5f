#include "api/completion_request.h"

#include <limits>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxLogprobs = 5;
constexpr int kDefaultMaxTokens = 16;  // OpenAI's for this endpoint
constexpr const char* kPromptShapes = "a string, an array of strings, or arrays of token ids";

constexpr Field<CompletionRequest> kFields[] = {
    {"prompt", nullptr,
     R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer", "minimum": 0}},
          {"type": "array", "maxItems": 128, "items": {"type": "string"}},
          {"type": "array", "maxItems": 128,
           "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}}],
         "description": "Text or token ids, or several of either."})",
     kPromptShapes},
    {"logprobs",
     [](const json::value& v, CompletionRequest& r) -> Status {
       // Some clients send the chat field's false.
       if (v.is_bool() && !v.get_bool()) return base::ok();
       TRY(const std::int64_t number, read_integer(v, {0, kMaxLogprobs}));
       r.params.sampling.logprobs = true;
       r.params.sampling.num_top_logprobs = static_cast<int>(number);
       return base::ok();
     },
     R"({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 5}, {"enum": [false]}],
         "description": "Likeliest tokens to show at each place."})"},
    {"tools",
     [](const json::value& v, CompletionRequest&) -> Status {
       const bool none = v.is_array() && v.get_array().empty();
       return none ? base::ok() : Status(not_supported("calling tools outside of a chat is"));
     },
     R"({"type": "array", "maxItems": 0})"},
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

Result<TextOrTokens> read_prompt(json::value& value) {
  if (value.is_string()) return TextOrTokens(std::string(value.get_string()));
  if (!value.is_array()) return wrong_type(kPromptShapes, value);
  TRY(std::vector<TokenId> tokens, read_tokens(value.get_array()));
  return TextOrTokens(std::move(tokens));
}

}  // namespace

Result<std::vector<TextOrTokens>> read_prompts(json::value& value) {
  std::vector<TextOrTokens> prompts;
  const bool several =
      value.is_array() && !value.get_array().empty() && !value.get_array().front().is_number();
  if (!several) {
    auto prompt = read_prompt(value);
    if (!prompt.ok()) return in_field("prompt", std::move(prompt).error());
    prompts.push_back(std::move(*prompt));
    return prompts;
  }
  json::array& array = value.get_array();
  if (array.size() > kMaxSequencesPerRequest)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} prompts, got {}", kMaxSequencesPerRequest, array.size()),
                 "prompt", "array_above_max_length"};
  for (std::size_t i = 0; i < array.size(); ++i) {
    auto prompt = read_prompt(array[i]);
    if (!prompt.ok()) return in_field("prompt", in_field(fmt::format("[{}]", i), std::move(prompt).error()));
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

Result<CompletionRequest> read_completion_request(json::object body) {
  CompletionRequest request;
  TRY_OK(read_params(body, request.params));
  TRY_OK(read_fields<CompletionRequest>(body, kFields, request));
  if (!request.params.max_tokens) request.params.max_tokens = kDefaultMaxTokens;
  TRY(request.prompts, read_prompts(body.at("prompt")));
  const auto num_sequences = static_cast<std::int64_t>(request.prompts.size()) * request.params.n;
  if (num_sequences > kMaxSequencesPerRequest)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} prompts times n = {} are over the limit of {} choices",
                             request.prompts.size(), request.params.n, kMaxSequencesPerRequest),
                 "n", "invalid_value"};
  return request;
}

json::object completion_request_schema() {
  ObjectSchema schema;
  describe_params(schema);
  return schema.add<CompletionRequest>(kFields).take();
}

}  // namespace kvasir::api

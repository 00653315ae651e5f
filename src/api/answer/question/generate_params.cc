#include "api/answer/question/generate_params.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "api/answer/question/receipt.h"
#include "api/answer/question/unsupported_fields.h"
#include "api/http/json/metadata.h"
#include "base/utf8.h"
#include "router/dice.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Status;

namespace {

constexpr int kMaxStops = 64;  // OpenAI allows 4, but agents send more
constexpr std::size_t kMaxStopCharacters = 4096;
constexpr int kMaxStopTokens = 128;
constexpr int kMaxBiases = 1024;
constexpr int kMaxPromptLogprobs = 20;
constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();

Status read_float(const json::value& value, NumberRange range, float& out) {
  TRY(const double number, read_number(value, range));
  out = static_cast<float>(number);
  return base::ok();
}

Status read_int(const json::value& value, IntegerRange range, int& out) {
  TRY(const std::int64_t number, read_integer(value, range));
  out = static_cast<int>(number);
  return base::ok();
}

Status read_flag(const json::value& value, bool& out) {
  TRY(out, read_bool(value));
  return base::ok();
}

Status add_stop(const json::value& value, GenerateParams& params) {
  TRY(std::string text, read_string(value));
  if (text.empty()) return wrong_value("expected a string that is not empty");
  if (const std::size_t size = base::num_characters(text); size > kMaxStopCharacters)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} characters, got {}", kMaxStopCharacters, size),
                 {},
                 "string_above_max_length"};
  params.stop.push_back(std::move(text));
  return base::ok();
}

Status read_stop_tokens(const json::value& value, GenerateParams& params) {
  if (!value.is_array()) return wrong_type("an array of token ids", value);
  if (value.get_array().size() > kMaxStopTokens)
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("expected at most {} token ids, got {}", kMaxStopTokens, value.get_array().size()),
        {},
        "array_above_max_length"};
  for (const json::value& item : value.get_array()) {
    TRY(const std::int64_t id, read_integer(item, {0, kMaxInt}));
    params.stop_tokens.push_back(static_cast<TokenId>(id));
  }
  return base::ok();
}

Status read_logit_bias(const json::value& value, GenerateParams& params) {
  if (!value.is_object()) return wrong_type("an object from token id to bias", value);
  const json::object& biases = value.get_object();
  if (biases.size() > kMaxBiases)
    return wrong_value(fmt::format("expected at most {} entries, got {}", kMaxBiases, biases.size()));
  for (const auto& [key, bias] : biases) {
    TokenId id = 0;
    const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (code != std::errc() || end != key.data() + key.size() || id < 0)
      return wrong_value(fmt::format("expected token ids as keys, got \"{}\"", std::string_view(key)));
    auto number = read_number(bias, {-100, 100});
    if (!number.ok()) return in_field(std::string_view(key), std::move(number).error());
    params.sampling.logit_bias.emplace_back(id, static_cast<float>(*number));
  }
  std::sort(params.sampling.logit_bias.begin(), params.sampling.logit_bias.end());
  return base::ok();
}

Status read_stream_options(const json::value& value, GenerateParams& params) {
  if (!value.is_object()) return wrong_type("an object", value);
  static constexpr Field<GenerateParams> kOptions[] = {
      {"include_usage",
       [](const json::value& v, GenerateParams& p) { return read_flag(v, p.include_usage); }},
      {"resumable", [](const json::value& v, GenerateParams& p) { return read_flag(v, p.resumable); }},
      {"include_obfuscation",
       [](const json::value& v, GenerateParams&) -> Status {
         TRY_OK(read_bool(v));  // obfuscation does not exist here, so the flag has no effect
         return base::ok();
       }},
      {"continuous_usage_stats",
       [](const json::value& v, GenerateParams& p) { return read_flag(v, p.continuous_usage); }},
  };
  warn_of_others<GenerateParams>(value.get_object(), kOptions, "stream_options.", params.warnings);
  return read_fields<GenerateParams>(value.get_object(), kOptions, params);
}

Status read_prompt_logprobs(const json::value& value, GenerateParams& params) {
  TRY(const std::int64_t number, read_integer(value, {0, kMaxPromptLogprobs}));
  params.num_prompt_logprobs = static_cast<int>(number);
  params.show_prompt_logprobs = true;
  return base::ok();
}

Status accept_text(const json::value& value, GenerateParams&) {
  TRY_OK(read_string(value));
  return base::ok();
}

Status read_store(const json::value& value, GenerateParams& params) {
  TRY(const bool wanted, read_bool(value));
  if (wanted) params.warnings.emplace_back("store: ignored, completions are not kept");
  params.is_private = !wanted;
  return base::ok();
}

using P = GenerateParams;
constexpr Field<P> kGenerateFields[] = {
    {"model",
     [](const json::value& v, P& p) -> Status {
       TRY(p.model, read_string(v));
       return base::ok();
     },
     kModelSchema, kModelExpected},
    {"temperature", [](const json::value& v, P& p) { return read_float(v, {0, 2}, p.sampling.temperature); },
     R"({"type": "number", "minimum": 0, "maximum": 2, "default": 1,
         "description": "0 always takes the likeliest token."})"},
    {"top_p", [](const json::value& v, P& p) { return read_float(v, {0, 1}, p.sampling.top_p); },
     R"({"type": "number", "minimum": 0, "maximum": 1, "default": 1,
         "description": "Draws among the likeliest tokens that together are so probable."})"},
    {"top_k", read_top_k,
     R"({"type": "integer", "minimum": -1, "maximum": 2147483647, "default": 0,
         "description": "Draws among so many of the likeliest tokens; 0 or -1: all."})"},
    {"min_p", [](const json::value& v, P& p) { return read_float(v, {0, 1}, p.sampling.min_p); },
     R"({"type": "number", "minimum": 0, "maximum": 1, "default": 0,
         "description": "Leaves out tokens less probable than this part of the likeliest one."})"},
    {"presence_penalty",
     [](const json::value& v, P& p) { return read_float(v, {-2, 2}, p.sampling.presence_penalty); },
     R"({"type": "number", "minimum": -2, "maximum": 2, "default": 0})"},
    {"frequency_penalty",
     [](const json::value& v, P& p) { return read_float(v, {-2, 2}, p.sampling.frequency_penalty); },
     R"({"type": "number", "minimum": -2, "maximum": 2, "default": 0})"},
    {"repetition_penalty",
     [](const json::value& v, P& p) { return read_float(v, {0.01, 10}, p.sampling.repetition_penalty); },
     R"({"type": "number", "minimum": 0.01, "maximum": 10, "default": 1})"},
    {"repeat_penalty",  // llama.cpp's name
     [](const json::value& v, P& p) { return read_float(v, {0.01, 10}, p.sampling.repetition_penalty); }},
    {"logit_bias", read_logit_bias,
     R"({"type": "object", "maxProperties": 1024, "propertyNames": {"pattern": "^[0-9]{1,9}$"},
         "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100},
         "description": "From token id to what is added to its logit."})"},
    {"seed", read_seed,
     R"({"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807,
         "description": "The same seed gives the same answer, whatever else the server does."})"},
    {"max_tokens", read_max_tokens,
     R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}],
         "description": "Of the answer; -1: the rest of the context."})"},
    {"n_predict", read_max_tokens},
    {"truncate_prompt_tokens",
     [](const json::value& v, P& p) -> Status {
       TRY(const std::int64_t number, read_integer(v, {-1, kMaxInt}));
       if (number == 0) return wrong_value("expected at least 1, or -1");
       p.max_prompt_tokens = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "anyOf": [{"const": -1}, {"minimum": 1, "maximum": 2147483647}],
         "description": "Only so many of the prompt's last tokens are read; -1: as many as fit."})"},
    {"cache_prompt",
     [](const json::value& v, P& p) -> Status {
       TRY(const bool wanted, read_bool(v));
       if (!wanted)
         p.warnings.emplace_back("cache_prompt: ignored, prompts that begin alike share their cache");
       return base::ok();
     }},
    {"min_tokens", [](const json::value& v, P& p) { return read_int(v, {0, kMaxInt}, p.min_tokens); },
     R"({"type": "integer", "minimum": 0, "maximum": 2147483647, "default": 0,
         "description": "Nothing ends the answer before so many tokens."})"},
    {"ignore_eos", [](const json::value& v, P& p) { return read_flag(v, p.ignore_eos); },
     R"({"type": "boolean", "default": false,
         "description": "Goes on after the model's own end, up to max_tokens."})"},
    {"stop", read_stop,
     R"({"anyOf": [{"type": "string", "minLength": 1, "maxLength": 4096},
                   {"type": "array", "maxItems": 64,
                    "items": {"type": "string", "minLength": 1, "maxLength": 4096}}],
         "description": "Texts that end the answer, and are not part of it."})"},
    {"stop_token_ids", read_stop_tokens,
     R"({"type": "array", "maxItems": 128,
         "items": {"type": "integer", "minimum": 0, "maximum": 2147483647}})"},
    {"n", [](const json::value& v, P& p) { return read_int(v, {1, kMaxSequencesPerRequest}, p.n); },
     R"({"type": "integer", "minimum": 1, "maximum": 128, "default": 1,
         "description": "Answers to the same prompt."})"},
    {"stream", [](const json::value& v, P& p) { return read_flag(v, p.stream); },
     R"({"type": "boolean", "default": false, "description": "Server-sent events instead of one answer."})"},
    {"stream_options", read_stream_options,
     R"({"type": "object", "description": "With `stream` only.", "properties": {
          "include_usage": {"type": ["boolean", "null"], "description": "The usage in a last chunk."},
          "resumable": {"type": ["boolean", "null"],
                        "description": "Go on when the client leaves; GET /v1/streams/{id} has the rest."},
          "include_obfuscation": {"type": ["boolean", "null"], "description": "It has no effect."},
          "continuous_usage_stats": {"type": ["boolean", "null"], "description": "The usage so far in every chunk."}}})"},
    {"prompt_logprobs", read_prompt_logprobs,
     R"({"type": "integer", "minimum": 0, "maximum": 20,
         "description": "How likely the prompt's own tokens were, with so many others; not with `stream`."})"},
    {"user",
     [](const json::value& v, P& p) -> Status {
       TRY(p.user, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Whom the client asks for; it has no effect on the answer."})"},
    {"safety_identifier", accept_text, R"({"type": "string", "description": "As `user`."})"},
    {"prompt_cache_key", read_cache_key,
     R"({"type": "string",
         "description": "Requests with the same key rather go to the same worker or upstream of a model with several."})"},
    {"prompt_cache_retention", accept_text, R"({"type": "string", "description": "It has no effect."})"},
    {"prompt_cache_options",
     [](const json::value& v, P&) -> Status {
       return v.is_object() ? base::ok() : Status(wrong_type("an object", v));
     },
     R"({"type": "object", "description": "It has no effect."})"},
    {"metadata",
     [](const json::value& v, P&) -> Status {
       TRY_OK(read_metadata(v));
       return base::ok();
     },
     kMetadataSchema},
    {"service_tier", read_service_tier, kServiceTierSchema},
    {"kvasir", read_own_field, kOwnFieldSchema},
    {"store", read_store,
     R"({"type": "boolean", "default": false, "description": "Nothing is kept; the answer's warnings say so."})"},
    {"verbosity", read_verbosity,
     R"({"enum": ["low", "medium", "high"], "description": "It has no effect; the answer's warnings say so."})"},
    {"prediction",
     [](const json::value& v, P& p) -> Status {
       if (!v.is_object()) return wrong_type("an object", v);
       p.warnings.emplace_back("prediction: ignored, answers are not predicted");
       return base::ok();
     },
     R"({"type": "object", "description": "It is ignored; the answer's warnings say so."})"},
};

}  // namespace

Status read_stop(const json::value& value, GenerateParams& params) {
  if (value.is_string()) return add_stop(value, params);
  if (!value.is_array()) return wrong_type("a string or an array of strings", value);
  const json::array& stops = value.get_array();
  if (stops.size() > kMaxStops)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} strings, got {}", kMaxStops, stops.size()),
                 {},
                 "array_above_max_length"};
  for (std::size_t i = 0; i < stops.size(); ++i)
    if (Status status = add_stop(stops[i], params); !status.ok())
      return in_field(fmt::format("[{}]", i), std::move(status).error());
  return base::ok();
}

Status read_cache_key(const json::value& value, GenerateParams& params) {
  TRY(const std::string key, read_string(value));
  if (!key.empty()) params.affinity = router::hash_of(key);
  return base::ok();
}

void set_conversation(const std::string& id, GenerateParams& params) {
  if (params.affinity == 0) params.affinity = router::hash_of(id);
}

Status read_seed(const json::value& value, GenerateParams& params) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  TRY(const std::int64_t seed, read_integer(value, {-kMax - 1, kMax}));
  params.seed = static_cast<std::uint64_t>(seed);
  return base::ok();
}

Status read_top_k(const json::value& value, GenerateParams& params) {
  TRY(const std::int64_t top_k, read_integer(value, {-1, kMaxInt}));
  params.sampling.top_k = static_cast<int>(std::max<std::int64_t>(top_k, 0));
  return base::ok();
}

Status read_service_tier(const json::value& value, GenerateParams& params) {
  constexpr std::string_view kTiers[] = {"auto", "default", "flex", "scale", "priority"};
  TRY(const std::string tier, read_string(value));
  if (std::ranges::find(kTiers, tier) == std::end(kTiers))
    return wrong_value(fmt::format("expected auto, default, flex, scale or priority, got \"{}\"", tier));
  params.service_tier = "default";
  return base::ok();
}

Status read_max_tokens(const json::value& value, GenerateParams& params) {
  TRY(const std::int64_t number, read_integer(value, {-1, kMaxInt}));
  if (number == 0) return wrong_value("expected at least 1, or -1 for the rest of the context");
  params.max_tokens.reset();
  params.is_unlimited = number == -1;
  if (number > 0) params.max_tokens = static_cast<int>(number);
  return base::ok();
}

Status read_verbosity(const json::value& value, GenerateParams& params) {
  TRY(const std::string word, read_string(value));
  if (word != "low" && word != "medium" && word != "high")
    return wrong_value(fmt::format("expected low, medium or high, got \"{}\"", word));
  if (word != "medium") params.warnings.emplace_back("verbosity: ignored, models here have no such levels");
  return base::ok();
}

GivenSampling given_sampling(const json::object& body) {
  const auto has = [&](std::string_view field) {
    const json::value* value = body.if_contains(field);
    return value != nullptr && !value->is_null();
  };
  return {.temperature = has("temperature"),
          .top_p = has("top_p"),
          .top_k = has("top_k"),
          .min_p = has("min_p"),
          .repetition_penalty = has("repetition_penalty") || has("repeat_penalty")};
}

Status read_params(const json::object& body, GenerateParams& params) {
  TRY_OK(refuse_unsupported(body));
  TRY_OK(read_fields<GenerateParams>(body, kGenerateFields, params));
  warn_of_other_name(body, "n_predict", "max_tokens", params.warnings);
  warn_of_other_name(body, "repeat_penalty", "repetition_penalty", params.warnings);
  params.given = given_sampling(body);
  TRY_OK(read_structured_output(body, params));
  if (!params.stream && body.contains("stream_options") && !body.at("stream_options").is_null())
    return in_field("stream_options", wrong_value("only allowed together with \"stream\": true"));
  if (params.stream && params.show_prompt_logprobs)
    return in_field("prompt_logprobs", not_supported("a stream with it is"));
  return base::ok();
}

void describe_params(ObjectSchema& schema) {
  schema.add<GenerateParams>(kGenerateFields);
  describe_unsupported(schema);
  describe_structured_output(schema);
}

}  // namespace kvasir::api

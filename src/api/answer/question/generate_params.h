#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/question/structured_output.h"
#include "api/http/json/fields.h"
#include "api/http/json/object_schema.h"
#include "api/http/service/service.h"
#include "wire/generate_request.h"

namespace kvasir::api {

// The fields that the request sets, among those for which a model's makers may advise values.
struct GivenSampling {
  bool temperature = false;
  bool top_p = false;
  bool top_k = false;
  bool min_p = false;
  bool repetition_penalty = false;
};
GivenSampling given_sampling(const json::object& body);

// Parameters that chat and text completions share.
struct GenerateParams {
  std::string model;
  wire::SamplingParams sampling;  // `seed` is set for each choice later
  GivenSampling given;
  std::optional<std::uint64_t> seed;
  std::optional<int> max_tokens;         // absent: the rest of the context
  bool is_unlimited = false;             // the request asks for the rest of the context
  std::optional<int> max_prompt_tokens;  // the prompt is cut to these last tokens; -1: all that leave room
  int min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  std::optional<OutputFormat> format;  // absent: any text
  int n = 1;
  int best_of = 1;                         // the number of answers to sample, if it is more than `n`
  std::optional<int> num_prompt_logprobs;  // the number of alternatives per prompt token; absent: no logprobs
  bool show_prompt_logprobs = false;       // return the prompt's logprobs in vLLM's field
  std::string service_tier;                // the tier that the answer names; empty if the request names none
  std::vector<std::string> warnings;       // about what was asked for but is not done
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;  // every chunk has the usage so far
  bool allow_downgrade = false;   // a smaller model may answer if this one would be late
  bool resumable = false;         // the stream continues when its client leaves
  bool background = false;        // the answer continues without its client, streamed or not
  std::uint64_t affinity = 0;     // requests with the same number belong together; 0: not given
  bool is_private = false;        // the client does not allow that its data is kept
  bool receipt = false;           // the answer says how long it waited and what it cost
  std::string user;

  int num_sampled() const { return std::max(n, best_of); }
};

// Reads the shared fields of `body`. Refuses fields that are known but not supported.
base::Status read_params(const json::object& body, GenerateParams& params);
// Adds the fields that `read_params` reads to the schema.
void describe_params(ObjectSchema& schema);

// Reads one of OpenAI's service tiers. The answer names the tier that was used.
base::Status read_service_tier(const json::value& value, GenerateParams& params);
// Reads a number of tokens from 1 on, or -1, which llama.cpp's clients send for no limit.
base::Status read_max_tokens(const json::value& value, GenerateParams& params);

// Reads a text that all requests which belong together send.
base::Status read_cache_key(const json::value& value, GenerateParams& params);
// Makes the requests of a conversation belong together, unless the request has a cache key of its own.
void set_conversation(const std::string& id, GenerateParams& params);

base::Status read_top_k(const json::value& value, GenerateParams& params);
base::Status read_seed(const json::value& value, GenerateParams& params);
// Reads one text that ends the answer, or an array of such texts.
base::Status read_stop(const json::value& value, GenerateParams& params);

// Reads one of OpenAI's verbosities, which have no effect here.
base::Status read_verbosity(const json::value& value, GenerateParams& params);
inline constexpr std::string_view kServiceTierSchema =
    R"({"enum": ["auto", "default", "flex", "scale", "priority"],
        "description": "Every request is served in the tier \"default\", as the answer says."})";

// The schema of the field "model" in every request.
inline constexpr std::string_view kModelSchema =
    R"({"type": "string", "description": "One of the models that GET /v1/models lists; where text is generated also `auto`."})";
inline constexpr std::string_view kModelExpected = "one of the models that GET /v1/models lists";

}  // namespace kvasir::api

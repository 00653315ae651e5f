#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/structured_output.h"
#include "api/http/fields.h"
#include "api/http/object_schema.h"
#include "api/http/service.h"
#include "wire/generate_request.h"

namespace kvasir::api {

// What chat and text completions have in common.
struct GenerateParams {
  std::string model;
  wire::SamplingParams sampling;  // its seed is drawn for each choice later
  std::optional<std::uint64_t> seed;
  std::optional<int> max_tokens;  // absent: the rest of the context
  int min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  std::optional<OutputFormat> format;  // absent: any text
  int n = 1;
  int best_of = 1;                         // answers that are sampled, where they are more than n
  std::optional<int> num_prompt_logprobs;  // with so many alternatives
  bool show_prompt_logprobs = false;       // in vLLM's field
  std::string service_tier;                // of the answer; empty: not asked for
  std::vector<std::string> warnings;       // of what was asked for and is not done
  bool stream = false;
  bool include_usage = false;
  bool resumable = false;  // the stream goes on when its client leaves
  std::string user;

  int num_sampled() const { return std::max(n, best_of); }
};

// Reads the shared fields of `body` and refuses those that are known and not supported.
base::Status read_params(const json::object& body, GenerateParams& params);
// Adds the fields that `read_params` reads.
void describe_params(ObjectSchema& schema);

// A tier of OpenAI's; the answer says which one it was served in.
base::Status read_service_tier(const json::value& value, GenerateParams& params);
inline constexpr std::string_view kServiceTierSchema =
    R"({"enum": ["auto", "default", "flex", "scale", "priority"],
        "description": "Every request is served in the tier \"default\", as the answer says."})";

// Of the field "model" of any request.
inline constexpr std::string_view kModelSchema =
    R"({"type": "string", "description": "One of the models that GET /v1/models lists."})";
inline constexpr std::string_view kModelExpected = "one of the models that GET /v1/models lists";

}  // namespace kvasir::api

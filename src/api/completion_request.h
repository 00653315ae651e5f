#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api/generate_params.h"

namespace kvasir::api {

using TextOrTokens = std::variant<std::string, std::vector<TokenId>>;

// POST /v1/completions, checked.
struct CompletionRequest {
  GenerateParams params;
  std::vector<TextOrTokens> prompts;  // never empty
};

base::Result<CompletionRequest> read_completion_request(json::object body);
json::object completion_request_schema();

// A string, an array of strings, an array of token ids, or an array of such arrays.
base::Result<std::vector<TextOrTokens>> read_prompts(json::value& value);

}  // namespace kvasir::api

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/answer/generate_params.h"

namespace kvasir::api {

using TextOrTokens = std::variant<std::string, std::vector<TokenId>>;

// A checked POST /v1/completions.
struct CompletionRequest {
  GenerateParams params;
  std::vector<TextOrTokens> prompts;  // never empty
  bool echo = false;
  bool prompt_alone = false;  // max_tokens is 0: nothing is generated, only the echo is returned
};

base::Result<CompletionRequest> read_completion_request(json::object body);
json::object completion_request_schema();

struct TextsField {
  std::string_view name;
  std::size_t max_texts;
};
// A string, an array of strings, an array of token ids, or an array of such arrays.
base::Result<std::vector<TextOrTokens>> read_texts_or_tokens(json::value& value, TextsField field);

}  // namespace kvasir::api

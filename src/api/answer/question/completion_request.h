#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/answer/question/generate_params.h"

namespace kvasir::api {

using TextOrTokens = std::variant<std::string, std::vector<TokenId>>;

// A file that is shown to the model before the text around a gap.
struct ContextFile {
  std::string name;
  std::string text;
};

// What surrounds a gap that the answer fills, besides the prompt, which comes before the gap.
struct Infill {
  std::string suffix;  // comes after the gap
  std::string_view suffix_field = "suffix";
  std::string begun;                    // the beginning of the gap's text, which the answer continues
  std::vector<ContextFile> files = {};  // oldest first; the oldest are left out if they do not fit
};

// A checked request for text that continues prompts, or that fills a gap after each of them.
struct CompletionRequest {
  GenerateParams params;
  std::string_view prompt_field = "prompt";
  std::optional<Infill> infill;
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
// Reads a string, an array of strings, an array of token ids, or an array of such arrays.
base::Result<std::vector<TextOrTokens>> read_texts_or_tokens(json::value& value, TextsField field);

}  // namespace kvasir::api

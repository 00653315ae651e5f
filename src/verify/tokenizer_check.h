#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer_cache.h"

namespace kvasir::verify {

// How a tokenizer and its chat template compare with a reference's.
struct TokenizerCheck {
  int num_texts = 0;
  int num_chats = 0;
  int num_streams = 0;
  int num_missed = 0;
  std::vector<std::string> failures;  // the first failures, one line each
};

// `tokenizer` is a directory with tokenizer.json, or a GGUF file. The golden has `encode` (text, ids,
// optionally ids_special and decoded) and `chat` (conversation, tools, add_generation_prompt, optionally
// kwargs and now; rendered, which is null if the template refuses the conversation). Streams of the golden's
// tokens and of random ones must give the text that decoding at once gives, in whole characters, and end at a
// stop.
base::Result<TokenizerCheck> check_tokenizer(const std::filesystem::path& tokenizer,
                                             const std::filesystem::path& golden,
                                             const model::TokenizerCache& cache = {});

}  // namespace kvasir::verify

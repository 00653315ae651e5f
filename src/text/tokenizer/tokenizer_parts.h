#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/fim_tokens.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// The parts of a Tokenizer. The readers of GGUF and of tokenizer.json fill them.
struct TokenizerParts {
  std::unique_ptr<const TokenTable> table;
  AddedTokens added;             // found in raw text
  AddedTokens normalized_added;  // found in normalized text, by their own normal form
  AddedTokens added_in_prompts;  // all added tokens, found in a raw prompt
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const WordModel> model;
  bool cuts_at_space_marks = false;  // a word may be cut before each run of space marks
  Decoder decoder;
  std::vector<TokenId> before_text;  // the post-processor puts these around a whole text
  std::vector<TokenId> behind_text;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;
  std::optional<TokenId> pad;
  FimIds named_fim;
  bool add_bos = false;
  bool add_eos = false;
  std::string chat_template;
  std::vector<TokenId> end_tokens{};  // filled by Tokenizer
  std::optional<FimTokens> fim{};     // filled by Tokenizer
};

}  // namespace kvasir::text

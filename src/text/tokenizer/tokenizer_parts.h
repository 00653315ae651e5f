#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// What a Tokenizer is made of; a vocabulary's reader (GGUF, tokenizer.json) puts it together.
struct TokenizerParts {
  std::unique_ptr<const TokenTable> table;
  AddedTokens added;             // found in text as it is
  AddedTokens normalized_added;  // found in normalized text, as their own normal form
  AddedTokens added_in_prompts;  // all of them, found in a prompt as it is
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const WordModel> model;
  bool cuts_at_space_marks = false;  // a word can be cut before each run of space marks
  Decoder decoder;
  std::vector<TokenId> before_text;  // what the post-processor puts around a whole text
  std::vector<TokenId> behind_text;
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;
  std::optional<TokenId> pad;
  bool add_bos = false;
  bool add_eos = false;
  std::string chat_template;
  std::vector<TokenId> end_tokens{};  // Tokenizer fills it
};

}  // namespace kvasir::text

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/token_table.h"
#include "text/word_piece.h"

namespace kvasir::text {

// What a Tokenizer is made of; a vocabulary's reader (GGUF, tokenizer.json) puts it together.
struct TokenizerParts {
  std::unique_ptr<const TokenTable> table;
  AddedTokens added;
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const Bpe> model;
  std::unique_ptr<const WordPiece> word_piece;  // in the place of `model`
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;
  std::optional<TokenId> pad;
  bool add_bos = false;
  bool add_eos = false;
  bool strips_leading_space = false;
  std::string chat_template;
  std::vector<TokenId> end_tokens{};  // Tokenizer fills it
};

}  // namespace kvasir::text

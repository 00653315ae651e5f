#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// WordPiece: the longest match comes first. A word becomes the longest token with which it begins, then the
// longest continuing token with which the rest begins, and so on. A word that cannot be spelled this way
// becomes one unknown token. Immutable. Takes O(n · longest token²) in the word's length, which is bounded.
class WordPiece : public WordModel {
 public:
  struct Options {
    std::string continuing_prefix = "##";  // prefix of tokens that do not begin a word
    int max_characters = 100;              // a longer word is unknown
    std::optional<TokenId> unk{};          // absent: unknown words are dropped
  };

  // `table` outlives the WordPiece.
  WordPiece(const TokenTable& table, Options options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const override;

 private:
  const TokenTable& table_;
  Options options_;
  std::size_t longest_ = 1;  // longest spelling, in bytes
};

}  // namespace kvasir::text

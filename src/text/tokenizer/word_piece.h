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

// Longest match first: a word becomes the longest token that it begins with, then the longest continuing
// token that the rest begins with, and so on. A word that cannot be spelled this way becomes one unknown
// token. Immutable. O(n · longest token²) in the word's length, which is bounded.
class WordPiece : public WordModel {
 public:
  struct Options {
    std::string continuing_prefix = "##";  // spelled before a token that does not begin a word
    int max_characters = 100;              // a longer word is unknown
    std::optional<TokenId> unk{};          // without it such words are dropped
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

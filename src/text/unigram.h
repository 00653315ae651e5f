#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/token_table.h"
#include "text/word_model.h"

namespace kvasir::text {

// Sentencepiece's unigram model: of all ways to spell a word with tokens, the one whose scores add up to
// most. O(n · longest token) in the word's length.
class Unigram : public WordModel {
 public:
  struct Options {
    std::optional<TokenId> unk{};  // for a character that no token spells; without it that is left out
    bool byte_fallback = false;    // byte tokens instead, where all are there
    double unk_score = 0;          // of one such character
  };

  // `table` outlives the Unigram. `scores` has one for each token.
  Unigram(const TokenTable& table, std::vector<double> scores, const Options& options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const override;

 private:
  // The bytes of all tokens as a tree; an edge is found by its node and byte.
  class Trie {
   public:
    explicit Trie(std::size_t max_edges);
    void add(std::string_view spelling, TokenId id);
    // -1: none.
    std::int32_t child(std::int32_t node, char c) const;
    TokenId token(std::int32_t node) const { return tokens_[node]; }

   private:
    struct Edge {
      std::uint64_t key = 0;  // node and byte, plus 1; 0: no edge
      std::int32_t child = 0;
    };
    std::size_t slot(std::uint64_t key) const;

    std::vector<Edge> edges_;      // a power of two, at most half full
    std::vector<TokenId> tokens_;  // [nodes], -1: no token ends there
  };

  void add_unknown(std::string_view text, std::vector<TokenId>& out) const;

  std::vector<double> scores_;
  Options options_;
  std::vector<TokenId> byte_tokens_;  // [256] or empty
  Trie trie_;
};

}  // namespace kvasir::text

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// The bytes of a vocabulary's tokens as a trie, with an index of edges by node and byte, and the scores of
// the tokens. Immutable; copies share their memory.
class ScoredTrie {
 public:
  struct Edge {
    std::uint64_t key = 0;  // node and byte, plus 1; 0: no edge
    std::int32_t child = 0;
    std::int32_t unused = 0;
  };
  struct Columns {
    std::span<const double> scores;     // [tokens of the vocabulary]
    std::span<const Edge> edges;        // their number is a power of two, and some are empty
    std::span<const TokenId> token_at;  // [nodes]; -1: no token ends there
  };

  // Builds the trie of the normal tokens. `scores` has one score for each token of the vocabulary.
  static ScoredTrie build(const TokenTable& table, std::vector<double> scores);
  // Makes a trie that already exists. `owner` keeps the memory of `columns` alive. Fails with `corrupt` if
  // they are not a valid trie for `num_tokens`.
  static base::Result<ScoredTrie> from_columns(const Columns& columns, std::shared_ptr<const void> owner,
                                               int num_tokens);

  const Columns& columns() const { return columns_; }
  // Returns a node's child; -1 if there is none.
  std::int32_t child(std::int32_t node, char c) const {
    const Edge& edge = columns_.edges[slot(columns_.edges, key_of(node, c))];
    return edge.key == 0 ? -1 : edge.child;
  }
  TokenId token(std::int32_t node) const { return columns_.token_at[node]; }
  double score(TokenId id) const { return columns_.scores[id]; }

 private:
  ScoredTrie(const Columns& columns, std::shared_ptr<const void> owner)
      : columns_(columns), owner_(std::move(owner)) {}

  static std::uint64_t key_of(std::int32_t node, char c) {
    return (static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c)) + 1;
  }
  // Returns the slot of the edge, or the empty slot where it would go.
  static std::size_t slot(std::span<const Edge> edges, std::uint64_t key) {
    const std::size_t mask = edges.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> 20 & mask;
    while (edges[at].key != 0 && edges[at].key != key) at = (at + 1) & mask;
    return at;
  }

  Columns columns_;
  std::shared_ptr<const void> owner_;
};

// Sentencepiece's unigram model: of all ways to spell a word with tokens, it takes the one with the highest
// sum of scores. Takes O(n · longest token) in the word's length.
class Unigram : public WordModel {
 public:
  struct Options {
    std::optional<TokenId> unk{};  // for characters that no token spells; without it, they are dropped
    bool byte_fallback = false;    // use byte tokens instead, if the vocabulary has all of them
    double unk_score = 0;          // score of one unknown character
  };

  // `trie` was built from `table`.
  Unigram(const TokenTable& table, ScoredTrie trie, const Options& options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const override;

 private:
  void add_unknown(std::string_view text, std::vector<TokenId>& out) const;

  ScoredTrie trie_;
  Options options_;
  std::vector<TokenId> byte_tokens_;  // [256] or empty
};

}  // namespace kvasir::text

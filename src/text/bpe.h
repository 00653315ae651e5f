#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/token_table.h"

namespace kvasir::text {

// Pairs of tokens that merge, with their ranks: an open-addressing table, because every word asks it about
// every neighbouring pair.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNoRank;
    TokenId result = -1;
  };
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

  explicit MergeTable(std::size_t num_merges);
  // The first rank of a pair stays.
  void insert(TokenId left, TokenId right, Merge merge);
  const Merge* find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  std::size_t first_slot(std::uint64_t key) const;

  std::vector<Slot> slots_;  // a power of two, at most half full
};

// Byte-pair encoding of one word: neighbours merge, lowest rank first, leftmost among equals.
// Immutable; O(n log n) in the word's length.
class Bpe {
 public:
  // What the symbols are before the first merge.
  enum class Alphabet {
    bytes,       // byte-level models
    characters,  // sentencepiece models; a character that is no token becomes its byte tokens
  };
  struct Options {
    Alphabet alphabet = Alphabet::bytes;
    bool ignore_merges = false;    // a word that is a token is taken whole
    std::optional<TokenId> unk{};  // for what no token spells; without it that is left out
  };
  // Buffers that one caller reuses from word to word.
  struct Workspace {
    struct Symbol {
      TokenId id = 0;
      std::int32_t previous = -1;
      std::int32_t next = -1;
    };
    struct Candidate {
      std::uint32_t rank = 0;
      std::int32_t left = 0;
      std::int32_t right = 0;
      TokenId left_id = 0;
      TokenId right_id = 0;
      TokenId result = 0;
    };
    std::vector<Symbol> symbols;
    std::vector<MergeTable::Merge> pairs;  // of a short word: each symbol with the next
    std::vector<Candidate> heap;
    std::stop_token stop;  // once requested, a long word is left half merged
  };

  // `table` outlives the Bpe.
  Bpe(const TokenTable& table, MergeTable merges, Options options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const;

 private:
  void merge_short(Workspace& work) const;
  void merge_long(Workspace& work) const;
  void add_symbols(std::string_view word, Workspace& work) const;
  void add_unspelled(std::string_view character, Workspace& work) const;
  void push_candidate(std::int32_t left, Workspace& work) const;

  const TokenTable& table_;
  MergeTable merges_;
  Options options_;
  std::array<TokenId, 256> byte_tokens_;  // -1: none
};

// Ranks merges in the order they are added.
class MergeRanker {
 public:
  explicit MergeRanker(std::size_t num_merges) : ranked_(num_merges) {}
  // Each is a token that a merge names. An error where one is missing; `written` is for its message.
  struct Sides {
    std::optional<TokenId> left;
    std::optional<TokenId> right;
    std::optional<TokenId> result;
  };
  base::Status add(const Sides& sides, std::string_view written);
  MergeTable take() { return std::move(ranked_); }

 private:
  MergeTable ranked_;
  std::uint32_t rank_ = 0;
};

// Sentencepiece keeps no merges: any two pieces that spell a piece merge, best score first.
MergeTable merges_by_score(const TokenTable& table, const std::vector<float>& scores);

}  // namespace kvasir::text

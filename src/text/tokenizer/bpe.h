#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// Byte-pair encoding of one word: neighbours merge, lowest rank first, leftmost among equals.
// O(n log n) in the word's length at worst, and nearly linear.
class Bpe : public WordModel {
 public:
  // What the symbols are before the first merge.
  enum class Alphabet {
    bytes,       // byte-level models
    characters,  // sentencepiece models; a character that is no token becomes its byte tokens
  };
  struct Options {
    Alphabet alphabet = Alphabet::bytes;
    bool ignore_merges = false;    // a word that is a token is taken whole
    bool fuse_unk = true;          // a run of unknown characters is one unknown token
    std::optional<TokenId> unk{};  // for what no token spells; without it that is left out
  };

  // `table` outlives the Bpe.
  Bpe(const TokenTable& table, MergeTable merges, Options options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const override;
  // Whether a word can be cut before each run of space marks and encoded part by part.
  bool cuts_at_space_marks() const { return cuts_at_space_marks_; }

 private:
  using Symbol = Workspace::Symbol;
  using Symbols = std::vector<Symbol>;
  struct Window;

  void encode_part(std::string_view part, Workspace& work, std::vector<TokenId>& out) const;
  // Where a long word can be cut: bytes that no merge ever joins. Found out when first asked.
  bool may_join(char left, char right) const;
  void find_joints() const;
  // To the left in place; how many are left. At most `kMost`.
  template <std::size_t kMost>
  std::size_t merge_short(std::span<Symbol> symbols) const;
  void merge_window(std::span<const Symbol> symbols, Window& window) const;
  bool merge_windows(Workspace& work) const;
  void merge_long(Workspace& work) const;
  void merge_bucket(std::uint32_t rank, Workspace& work) const;
  void add_candidate(std::uint32_t left, Workspace& work) const;
  void add_symbols(std::string_view word, Symbols& symbols) const;
  void add_unspelled(std::string_view character, Symbols& symbols) const;

  const TokenTable& table_;
  MergeTable merges_;
  Options options_;
  bool cuts_at_space_marks_ = false;
  std::array<TokenId, 256> byte_tokens_;  // -1: none
  mutable std::once_flag found_joints_;
  mutable std::bitset<65536> joints_;  // of a token's last byte and another's first
};

}  // namespace kvasir::text

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

// Byte-pair encoding of one word. The neighbours with the lowest rank merge first, and the leftmost of equal
// ranks. Takes O(n log n) in the word's length in the worst case, and nearly linear time in practice.
class Bpe : public WordModel {
 public:
  // The symbols that a word consists of before the first merge.
  enum class Alphabet {
    bytes,       // byte-level models
    characters,  // sentencepiece models; a character without a token becomes its byte tokens
  };
  struct Options {
    Alphabet alphabet = Alphabet::bytes;
    bool ignore_merges = false;    // a word that is a token becomes that token
    bool fuse_unk = true;          // a run of unknown characters is one unknown token
    std::optional<TokenId> unk{};  // for text that no token spells; without it such text is dropped
  };

  // `table` outlives the Bpe.
  Bpe(const TokenTable& table, MergeTable merges, Options options);

  void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const override;
  // Whether a word may be cut before each run of space marks and encoded in parts.
  bool cuts_at_space_marks() const { return cuts_at_space_marks_; }

 private:
  using Symbol = Workspace::Symbol;
  using Symbols = std::vector<Symbol>;
  struct Window;

  void encode_part(std::string_view part, Workspace& work, std::vector<TokenId>& out) const;
  // Whether some merge may join these two bytes. A long word can be cut between all other pairs. The pairs
  // are computed when first needed.
  bool may_join(char left, char right) const;
  void find_joints() const;
  // Merges in place and moves symbols to the left. Takes at most `kMost` symbols. Returns how many remain.
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
  mutable std::bitset<65536> joints_;  // [last byte of one token, first byte of the next]
};

}  // namespace kvasir::text

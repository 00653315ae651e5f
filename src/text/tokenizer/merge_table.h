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

namespace kvasir::text {

// The character U+2581, which sentencepiece writes instead of a space.
inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// The pairs of tokens that merge, with their ranks. The table uses open addressing, since every neighbouring
// pair of every word is looked up.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNoRank;
    TokenId result = -1;
  };
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  explicit MergeTable(std::size_t num_merges);
  MergeTable(MergeTable&&) noexcept = default;
  MergeTable& operator=(MergeTable&&) noexcept = default;
  MergeTable(const MergeTable&) = delete;
  MergeTable& operator=(const MergeTable&) = delete;

  // A table that is already filled, for a vocabulary of `num_tokens`. It comes from a tokenizer's image.
  struct Stored {
    std::span<const Slot> slots;
    bool keeps_space_marks_first = false;
    std::shared_ptr<const void> owner;  // keeps the slots alive
  };
  // Fails with `corrupt` if the slots are not a valid table.
  static base::Result<MergeTable> from_slots(Stored stored, int num_tokens);
  std::span<const Slot> slots() const { return slots_; }  // a power of two; some are empty

  // Inserts a pair. If it is already there, its first rank stays.
  void insert(TokenId left, TokenId right, Merge merge);
  // Prefetches the slot of a pair that will be inserted soon.
  void prepare(TokenId left, TokenId right) const {
    __builtin_prefetch(&slots_[first_slot(key_of(left, right))]);
  }
  // Finds a pair. The result has rank kNoRank if the pair does not merge.
  Merge find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = first_slot(key); slots_[at].key != kEmpty; at = (at + 1) & mask) {
      if (slots_[at].key == key) return slots_[at].merge;
    }
    return {};
  }
  // Calls f(left, right) for every pair, in any order.
  template <class F>
  void for_each_pair(const F& f) const {
    for (const Slot& slot : slots_) {
      if (slot.key != kEmpty) f(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key));
    }
  }
  std::uint32_t num_ranks() const { return num_ranks_; }

  // True if no merge joins a text that does not end with a space mark to one that begins with a mark. A text
  // can then be cut before each run of marks.
  bool keeps_space_marks_first() const { return keeps_space_marks_first_; }
  void note_spelling(std::string_view left, std::string_view right) {
    if (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark)) keeps_space_marks_first_ = false;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  static std::uint64_t key_of(TokenId left, TokenId right) {
    return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
  }
  std::size_t first_slot(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15ull;
    return (key ^ (key >> 32)) & (slots_.size() - 1);
  }

  std::vector<Slot> filled_;  // filled by insert()
  std::shared_ptr<const void> owner_;
  std::span<const Slot> slots_;
  std::uint32_t num_ranks_ = 0;
  bool keeps_space_marks_first_ = true;
};

// Ranks merges in the order in which they are added.
class MergeRanker {
 public:
  explicit MergeRanker(std::size_t num_merges) : ranked_(num_merges) {}
  // The two sides of a merge as they are written, and the tokens of both sides and of the result.
  struct Sides {
    std::string_view left;
    std::string_view right;
    std::optional<TokenId> left_id;
    std::optional<TokenId> right_id;
    std::optional<TokenId> result_id;
  };
  // Prefetches memory for a later add() of the same sides.
  void prepare(const Sides& sides) const {
    if (sides.left_id && sides.right_id) ranked_.prepare(*sides.left_id, *sides.right_id);
  }
  // Adds a merge. Fails if a side or the result is not a token.
  base::Status add(const Sides& sides);
  MergeTable take() { return std::move(ranked_); }

 private:
  MergeTable ranked_;
  std::uint32_t rank_ = 0;
};

// Makes the merges, since sentencepiece stores none: any two pieces that together spell a piece merge. The
// piece with the best score comes first.
MergeTable merges_by_score(const TokenTable& table, const std::vector<float>& scores);

}  // namespace kvasir::text

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace kvasir::text {

// Finds token ids by strings that are stored elsewhere: `text_of(id)` returns the string. The index uses open
// addressing, since it is needed for loading a vocabulary and, in some models, for every word. Filled once,
// then immutable.
class StringIndex {
 public:
  struct Slot {
    TokenId id = -1;        // -1: empty
    std::uint32_t tag = 0;  // part of the hash, to exclude most mismatches
  };

  explicit StringIndex(std::size_t max_entries = 0);

  // Inserts a string. If it is already there, returns its id and changes nothing.
  template <class TextOf>
  std::optional<TokenId> insert(std::string_view text, TokenId id, TextOf text_of) {
    const std::uint64_t hashed = hash(text);
    Slot& slot = slots_[position(slots_, hashed, text, text_of)];
    if (slot.id >= 0) return slot.id;
    slot = {id, tag(hashed)};
    return std::nullopt;
  }

  template <class TextOf>
  std::optional<TokenId> find(std::string_view text, TextOf text_of) const {
    return find(slots_, text, text_of);
  }
  // Prefetches the slot for a later search. Returns what `find` takes as `prepared`.
  std::uint64_t prepare(std::string_view text) const {
    const std::uint64_t hashed = hash(text);
    __builtin_prefetch(&slots_[hashed & (slots_.size() - 1)]);
    return hashed;
  }
  // `prepared` is the result of prepare() for the same text.
  template <class TextOf>
  std::optional<TokenId> find(std::uint64_t prepared, std::string_view text, TextOf text_of) const {
    const Slot& slot = slots_[position(slots_, prepared, text, text_of)];
    if (slot.id < 0) return std::nullopt;
    return slot.id;
  }
  // Searches in the slots of an index that is stored elsewhere.
  template <class TextOf>
  static std::optional<TokenId> find(std::span<const Slot> slots, std::string_view text, TextOf text_of) {
    const Slot& slot = slots[position(slots, hash(text), text, text_of)];
    if (slot.id < 0) return std::nullopt;
    return slot.id;
  }

  const std::vector<Slot>& slots() const { return slots_; }  // a power of two; at most half are used
  // Whether every search in `slots` ends and finds only ids below `num_tokens`.
  static bool fits(std::span<const Slot> slots, int num_tokens);

 private:
  // The hash is the same on every machine, since slots are stored in files.
  static std::uint64_t hash(std::string_view text);
  static std::uint32_t tag(std::uint64_t hashed) { return static_cast<std::uint32_t>(hashed >> 32); }

  // Returns the slot of `text`, or the empty slot where it would go.
  template <class TextOf>
  static std::size_t position(std::span<const Slot> slots, std::uint64_t hashed, std::string_view text,
                              TextOf text_of) {
    const std::size_t mask = slots.size() - 1;
    const std::uint32_t wanted = tag(hashed);
    std::size_t at = hashed & mask;
    while (slots[at].id >= 0 && (slots[at].tag != wanted || text_of(slots[at].id) != text))
      at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
};

}  // namespace kvasir::text

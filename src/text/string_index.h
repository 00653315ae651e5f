#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace kvasir::text {

// Token ids by a string that lives elsewhere: `text_of(id)` says which. Open addressing, because a
// vocabulary's load and every word of some models go through it. Filled once, then immutable.
class StringIndex {
 public:
  explicit StringIndex(std::size_t max_entries = 0) : slots_(std::bit_ceil(max_entries * 2 + 2)) {}

  // The id that had this string before, in which case nothing changes.
  template <class TextOf>
  std::optional<TokenId> insert(std::string_view text, TokenId id, TextOf text_of) {
    Slot& slot = slots_[position(text, text_of)];
    if (slot.id >= 0) return slot.id;
    slot = {id, tag(text)};
    return std::nullopt;
  }

  template <class TextOf>
  std::optional<TokenId> find(std::string_view text, TextOf text_of) const {
    const Slot& slot = slots_[position(text, text_of)];
    if (slot.id < 0) return std::nullopt;
    return slot.id;
  }

 private:
  struct Slot {
    TokenId id = -1;
    std::uint32_t tag = 0;  // part of the hash: most mismatches end here
  };

  static std::size_t hash(std::string_view text) { return std::hash<std::string_view>()(text); }
  static std::uint32_t tag(std::string_view text) { return static_cast<std::uint32_t>(hash(text) >> 32); }

  // Where `text` is, or would go.
  template <class TextOf>
  std::size_t position(std::string_view text, TextOf text_of) const {
    const std::size_t mask = slots_.size() - 1;
    const std::size_t hashed = hash(text);
    const auto wanted = static_cast<std::uint32_t>(hashed >> 32);
    std::size_t at = hashed & mask;
    while (slots_[at].id >= 0 && (slots_[at].tag != wanted || text_of(slots_[at].id) != text))
      at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
};

}  // namespace kvasir::text

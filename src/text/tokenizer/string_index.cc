#include "text/tokenizer/string_index.h"

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace kvasir::text {

StringIndex::StringIndex(std::size_t max_entries) : slots_(std::bit_ceil(max_entries * 2 + 2)) {}

bool StringIndex::fits(std::span<const Slot> slots, int num_tokens) {
  const auto is_empty = [](const Slot& slot) { return slot.id == -1; };
  return std::has_single_bit(slots.size()) && std::any_of(slots.begin(), slots.end(), is_empty) &&
         std::all_of(slots.begin(), slots.end(),
                     [num_tokens](const Slot& slot) { return slot.id >= -1 && slot.id < num_tokens; });
}

std::uint64_t StringIndex::hash(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace kvasir::text

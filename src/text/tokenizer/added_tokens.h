#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/prompt.h"

namespace kvasir::text {

// Finds added tokens in text before it is split. Filled once, then immutable.
class AddedTokens {
 public:
  struct Entry {
    TokenId id = 0;
    bool special = false;
    bool structural = false;   // not special, but marks a chat's turns or the parts around a gap
    bool single_word = false;  // found only if no word character touches it
    bool takes_space_before = false;
    bool takes_space_after = false;
  };
  struct Match {
    Range range;
    Entry entry;
  };

  // Adds a token. `bytes` is not empty. If two entries have equal bytes, the last one stays.
  void add(std::string_view bytes, Entry entry);
  bool empty() const { return entries_.empty(); }
  std::vector<Entry>& entries() { return entries_; }
  // Finds the longest token at `at` for which `allowed(range, entry)` is true.
  template <class Allowed>
  std::optional<Match> match_at(std::string_view text, std::size_t at, Allowed allowed) const;
  bool may_begin_with(char c) const { return first_bytes_[static_cast<unsigned char>(c)]; }

 private:
  struct Node {
    std::vector<std::pair<char, std::int32_t>> children;
    std::int32_t entry = -1;
  };
  std::int32_t child(std::int32_t node, char c) const;

  std::vector<Node> nodes_{Node{}};
  std::vector<Entry> entries_;
  std::bitset<256> first_bytes_;
};

template <class Allowed>
std::optional<AddedTokens::Match> AddedTokens::match_at(std::string_view text, std::size_t at,
                                                        Allowed allowed) const {
  std::optional<Match> longest;
  std::int32_t node = 0;
  for (std::size_t end = at; end < text.size();) {
    node = child(node, text[end]);
    if (node < 0) break;
    ++end;
    const std::int32_t entry = nodes_[node].entry;
    if (entry >= 0 && allowed(Range{at, end}, entries_[entry])) longest = Match{{at, end}, entries_[entry]};
  }
  return longest;
}

}  // namespace kvasir::text

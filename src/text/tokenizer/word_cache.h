#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace kvasir::text {

// Recently encoded words with their tokens. The cache takes half a megabyte, and a new word replaces an old
// one. Used by one thread.
class WordCache {
 public:
  static constexpr std::size_t kMaxWord = 22;
  static constexpr std::size_t kMaxTokens = 10;

  static bool takes(std::string_view word) { return word.size() <= kMaxWord; }

  // Finds a word; null if it is not there. Requires `takes(word)`.
  const std::span<const TokenId>* find(std::string_view word) {
    if (entries_.empty()) entries_.resize(kEntries);
    const Entry& entry = entries_[slot_ = slot_of(word)];
    if (entry.size != word.size() || std::memcmp(entry.word, word.data(), word.size()) != 0) return nullptr;
    found_ = {entry.tokens, entry.num_tokens};
    return &found_;
  }
  // Stores the word that find() has just missed.
  void put(std::string_view word, std::span<const TokenId> tokens) {
    if (tokens.size() > kMaxTokens) return;
    Entry& entry = entries_[slot_];
    entry.size = static_cast<std::uint8_t>(word.size());
    entry.num_tokens = static_cast<std::uint8_t>(tokens.size());
    std::memcpy(entry.word, word.data(), word.size());
    std::copy(tokens.begin(), tokens.end(), entry.tokens);
  }

 private:
  static constexpr std::size_t kEntries = 8192;

  struct alignas(64) Entry {
    std::uint8_t size = 0;  // 0: empty, since no word is empty
    std::uint8_t num_tokens = 0;
    char word[kMaxWord] = {};
    TokenId tokens[kMaxTokens] = {};
  };
  static_assert(sizeof(Entry) == 64);

  template <class T>
  static std::uint64_t load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  static std::size_t slot_of(std::string_view word) {
    const char* bytes = word.data();
    const std::size_t size = word.size();
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if (size >= 8) {
      a = load<std::uint64_t>(bytes) ^ (load<std::uint64_t>(bytes + (size - 8) / 2) << 7);
      b = load<std::uint64_t>(bytes + size - 8);
    } else if (size >= 4) {
      a = load<std::uint32_t>(bytes);
      b = load<std::uint32_t>(bytes + size - 4);
    } else {
      a = load<std::uint8_t>(bytes) | (load<std::uint8_t>(bytes + size / 2) << 8);
      b = load<std::uint8_t>(bytes + size - 1);
    }
    const std::uint64_t mixed = (a * 0x9E3779B97F4A7C15ull) ^ ((b + size) * 0xC2B2AE3D27D4EB4Full);
    return (mixed ^ (mixed >> 29) ^ (mixed >> 47)) % kEntries;
  }

  std::vector<Entry> entries_;
  std::size_t slot_ = 0;
  std::span<const TokenId> found_;
};

}  // namespace kvasir::text

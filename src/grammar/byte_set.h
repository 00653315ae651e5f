#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>

namespace kvasir::grammar {

// A set of byte values.
class ByteSet {
 public:
  static ByteSet range(std::uint8_t first, std::uint8_t last) {
    ByteSet set;
    for (int b = first; b <= last; ++b) set.add(static_cast<std::uint8_t>(b));
    return set;
  }

  void add(std::uint8_t byte) { words_[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
  bool has(std::uint8_t byte) const { return (words_[byte >> 6] >> (byte & 63)) & 1; }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  int size() const {
    int n = 0;
    for (const std::uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  // The smallest member. The set must not be empty.
  std::uint8_t first() const {
    int i = 0;
    while (words_[i] == 0) ++i;
    return static_cast<std::uint8_t>(i * 64 + std::countr_zero(words_[i]));
  }
  bool intersects(const ByteSet& other) const {
    for (int i = 0; i < 4; ++i) {
      if (words_[i] & other.words_[i]) return true;
    }
    return false;
  }
  ByteSet& operator|=(const ByteSet& other) {
    for (int i = 0; i < 4; ++i) words_[i] |= other.words_[i];
    return *this;
  }
  auto operator<=>(const ByteSet&) const = default;

  template <class F>
  void for_each(F f) const {
    for (int i = 0; i < 4; ++i) {
      for (std::uint64_t w = words_[i]; w != 0; w &= w - 1) {
        f(static_cast<std::uint8_t>(i * 64 + std::countr_zero(w)));
      }
    }
  }

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace kvasir::grammar

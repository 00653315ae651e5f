#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvasir::router {

// Spreads the bits of a number over all of them.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A hash of the text that is the same on every machine.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = mixed(hash ^ static_cast<unsigned char>(c));
  return hash;
}

// Random numbers for many threads. The same seed gives one thread the same numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(mixed(state_.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed)) %
                                    limit);
  }

 private:
  std::atomic<std::uint64_t> state_;
};

}  // namespace kvasir::router

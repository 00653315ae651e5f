#pragma once

#include <cstdint>

namespace kvasir::sample {

// A counter-based generator of random numbers. A draw depends only on (seed, position), so a sequence gets
// the same tokens alone, in a batch, after a preemption, or with its prefix cached.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : key_(mix(seed + kStep)) {}

  // Returns a number that is uniform in [0, 1).
  double uniform(std::uint64_t position) const {
    return static_cast<double>(mix(mix(position * kStep + key_) ^ key_) >> 11) * 0x1.0p-53;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;

  // The finalizer of SplitMix64.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  std::uint64_t key_;
};

}  // namespace kvasir::sample

#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace kvasir::bench {

// Random numbers that depend only on the seed, whatever the standard library. Only the engine comes from the
// library, because the C++ standard specifies its output.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  // Each `index` gives an independent stream of numbers for one seed.
  Random(std::uint64_t seed, std::uint64_t index) : engine_(seed ^ (index + 1) * 0x9e3779b97f4a7c15u) {}

  std::uint64_t bits() { return engine_(); }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  // Returns a normally distributed number, with mean 0 and deviation 1.
  double normal() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Returns the gap to the next event of a Poisson process.
  double exponential(double rate) { return -std::log1p(-uniform()) / rate; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace kvasir::bench

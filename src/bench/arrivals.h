#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bench/random.h"

namespace kvasir::bench {

// The times at which requests arrive, ascending.
class Arrivals {
 public:
  // A Poisson process of `rate` a second.
  static Arrivals poisson(double rate, std::uint64_t seed) { return Arrivals(rate, seed, {}); }
  static Arrivals at(std::vector<double> times_s) { return Arrivals(0, 0, std::move(times_s)); }

  // None: no more will come.
  std::optional<double> next() {
    if (rate_ > 0) return last_s_ += random_.exponential(rate_);
    if (index_ == times_s_.size()) return std::nullopt;
    return times_s_[index_++];
  }

 private:
  Arrivals(double rate, std::uint64_t seed, std::vector<double> times_s)
      : rate_(rate), random_(seed), times_s_(std::move(times_s)) {}

  double rate_;
  Random random_;
  double last_s_ = 0;
  std::vector<double> times_s_;
  std::size_t index_ = 0;
};

}  // namespace kvasir::bench

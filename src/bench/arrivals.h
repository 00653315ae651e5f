#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bench/random.h"

namespace kvasir::bench {

// The arrival times of requests, ascending.
class Arrivals {
 public:
  // A Poisson process with `rate` requests per second. With `burst` > 1, that many requests arrive together,
  // `rate` / `burst` times per second.
  static Arrivals poisson(double rate, std::uint64_t seed, int burst = 1) {
    return Arrivals(rate, seed, burst, {});
  }
  static Arrivals at(std::vector<double> times_s) { return Arrivals(0, 0, 1, std::move(times_s)); }

  // Returns the next time, or nothing if no more requests will come.
  std::optional<double> next() {
    if (rate_ > 0) {
      if (num_of_burst_ % burst_ == 0) last_s_ += random_.exponential(rate_ / burst_);
      ++num_of_burst_;
      return last_s_;
    }
    if (index_ == times_s_.size()) return std::nullopt;
    return times_s_[index_++];
  }

 private:
  Arrivals(double rate, std::uint64_t seed, int burst, std::vector<double> times_s)
      : rate_(rate), random_(seed), burst_(burst), times_s_(std::move(times_s)) {}

  double rate_;
  Random random_;
  int burst_;
  int num_of_burst_ = 0;
  double last_s_ = 0;
  std::vector<double> times_s_;
  std::size_t index_ = 0;
};

}  // namespace kvasir::bench

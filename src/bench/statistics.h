#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::bench {

// Statistics of a set of measurements. All fields are 0 if there are no measurements.
struct Distribution {
  std::size_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

// Interpolates linearly between the two closest ranks. `sorted` must be ascending and not empty; `percent` is
// from 0 to 100.
double percentile(std::span<const double> sorted, double percent);

Distribution describe(std::vector<double> values);

double median(std::vector<double> values);

}  // namespace kvasir::bench

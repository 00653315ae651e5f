#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kvasir::bench {

double percentile(std::span<const double> sorted, double percent) {
  CHECK(!sorted.empty(), "a percentile of nothing");
  const double rank = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

Distribution describe(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.count = values.size(),
          .mean = sum / static_cast<double>(values.size()),
          .min = values.front(),
          .p50 = percentile(values, 50),
          .p90 = percentile(values, 90),
          .p95 = percentile(values, 95),
          .p99 = percentile(values, 99),
          .max = values.back()};
}

double median(std::vector<double> values) {
  return describe(std::move(values)).p50;
}

}  // namespace kvasir::bench

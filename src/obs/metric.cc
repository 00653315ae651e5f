#include "obs/metric.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace kvasir::obs {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(new std::atomic<std::uint64_t>[bounds_.size() + 1]()) {
  CHECK(std::adjacent_find(bounds_.begin(), bounds_.end(), std::greater_equal<>()) == bounds_.end(),
        "a histogram's bounds must rise");
}

void Histogram::observe(double value, std::string_view trace_id) {
  const auto range =
      static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  counts_[range].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
  if (!trace_id.empty()) keep(range, value, trace_id);
}

void Histogram::keep(std::size_t range, double value, std::string_view trace_id) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  exemplars_.resize(bounds_.size() + 1);
  Exemplar& exemplar = exemplars_[range];
  exemplar.trace_id = trace_id;
  exemplar.value = value;
  exemplar.at_s = now.count();
}

std::vector<Exemplar> Histogram::exemplars() const {
  const std::lock_guard lock(mutex_);
  return exemplars_;
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts(bounds_.size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

std::vector<double> exponential_bounds(double first, double factor, int count) {
  std::vector<double> bounds;
  bounds.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i, first *= factor) bounds.push_back(first);
  return bounds;
}

std::vector<double> latency_bounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
}

}  // namespace kvasir::obs

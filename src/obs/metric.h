#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace kvasir::obs {

// A number that only grows. Thread-safe; an update is one relaxed addition.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A value that goes up and down. Thread-safe.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// One observation in a range of a histogram, and the trace of the request that it came from.
struct Exemplar {
  std::string trace_id;  // empty: the range has none
  double value = 0;
  double at_s = 0;  // since the epoch
};

// Counts how often a value is in each of a few fixed ranges. Thread-safe; an observation is a search of the
// bounds and two relaxed additions. A concurrent reader may see an observation in the count before it is in
// the sum.
class Histogram {
 public:
  // Upper bounds in ascending order. A last range without a bound is added.
  explicit Histogram(std::vector<double> bounds);

  // With a trace, the observation becomes its range's exemplar, unless another thread sets one just then.
  void observe(double value, std::string_view trace_id = {});

  const std::vector<double>& bounds() const { return bounds_; }
  // The number of observations in each range, not cumulative: bounds().size() + 1 numbers.
  std::vector<std::uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }
  // The latest exemplar of each range; nothing at all before the first.
  std::vector<Exemplar> exemplars() const;

 private:
  void keep(std::size_t range, double value, std::string_view trace_id);

  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
  mutable std::mutex mutex_;
  std::vector<Exemplar> exemplars_;  // guarded by mutex_; one for each range, or none
};

// `count` bounds, each `factor` times the previous one.
std::vector<double> exponential_bounds(double first, double factor, int count);
// For waits and durations of requests, in seconds: 1 ms to 2 min.
std::vector<double> latency_bounds();

}  // namespace kvasir::obs

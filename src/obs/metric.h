#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kvasir::obs {

// Counts up. Any thread; one relaxed addition.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A value that goes up and down. Any thread.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// How often a value fell into each of a few fixed ranges. Any thread; an observation is a search of the
// bounds and two relaxed additions. A reader beside it may see an observation in the count and not yet in the
// sum.
class Histogram {
 public:
  // Upper bounds, rising; a last range without a bound is added.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value);

  const std::vector<double>& bounds() const { return bounds_; }
  // Observations of each range, not cumulated: bounds().size() + 1 numbers.
  std::vector<std::uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// `count` bounds, each `factor` times the one before.
std::vector<double> exponential_bounds(double first, double factor, int count);
// For waits and durations of requests, in seconds: 1 ms to 2 min.
std::vector<double> latency_bounds();

}  // namespace kvasir::obs

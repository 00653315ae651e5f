#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace kvasir::sched {

// Learns how much later than forecast first tokens come, so that admission can allow for it: about one first
// token in twenty comes later than its forecast times the factor. The factor is learned since machines differ
// in how steady their steps are. Thread-safe.
class Caution {
 public:
  double factor() const { return factor_.load(std::memory_order_relaxed); }

  void learn(double predicted_s, double real_s) {
    if (predicted_s <= 0 || real_s <= 0) return;
    double factor = this->factor();
    double next = 0;
    // The factor settles where the steps up and down cancel out: where the part kLate of all first tokens is
    // later.
    do next = factor * (real_s > factor * predicted_s ? 1 + kStep * (1 - kLate) : 1 - kStep * kLate);
    while (!factor_.compare_exchange_weak(factor, std::clamp(next, kLeast, kMost)));
  }

 private:
  static constexpr double kLate = 0.05;
  static constexpr double kStep = 0.1;
  static constexpr double kLeast = 1;
  static constexpr double kMost = 4;

  std::atomic<double> factor_{1.25};
};

// Holds one Caution for each model. Thread-safe.
class Cautions {
 public:
  // `model` must be one that the router knows, so that clients cannot add entries. The reference stays valid.
  Caution& of(const std::string& model) {
    const std::lock_guard lock(mutex_);
    return models_[model];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Caution> models_;  // guarded by mutex_
};

}  // namespace kvasir::sched

#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace kvasir::sched {

// How much later than forecast first tokens come, so that admission can allow for it: about one in twenty is
// later than the forecast times the factor. Machines differ in how steady their steps are. Thread-safe.
class Caution {
 public:
  double factor() const { return factor_.load(std::memory_order_relaxed); }

  void learn(double predicted_s, double real_s) {
    if (predicted_s <= 0 || real_s <= 0) return;
    double factor = this->factor();
    double next = 0;
    // The factor rests where steps up and down cancel out: where a part kLate of all is later.
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

// One for each model. Thread-safe.
class Cautions {
 public:
  // `model` must be one that the router knows, so that clients cannot add rows. The reference stays valid.
  Caution& of(const std::string& model) {
    const std::lock_guard lock(mutex_);
    return models_[model];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Caution> models_;  // guarded by mutex_
};

}  // namespace kvasir::sched

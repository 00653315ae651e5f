#include "sched/step_cost.h"

#include <algorithm>
#include <cmath>

namespace kvasir::sched {

namespace {

// A step's memory: the weight of a step falls to 1/e after this many.
constexpr double kFading = 1.0 - 1.0 / 200;
// When the last few steps were all off in one direction by about a quarter, the device has changed: forget
// faster.
constexpr double kSurprise = 0.25;
constexpr double kSurpriseFading = 0.9;
// How many steps' worth of evidence it takes to move a weight that the recent steps say nothing about.
constexpr double kInertia = 1e-3;
constexpr int kSweeps = 24;
// Brings the features near 1, so that one inertia suits all.
constexpr double kPrefillScale = 1.0 / 64;
constexpr double kDecodeScale = 1.0 / 4;
constexpr double kKvScale = 1.0 / 4096;

}  // namespace

// Before the first step: a small laptop CPU on a model of about a billion weights, so that the first chunks
// are rather too small than too large.
StepCost::StepCost() : weights_{0.005, 0.002 / kPrefillScale, 0.02 / kDecodeScale, 1e-6 / kKvScale} {}

StepCost::Vector StepCost::features(const StepLoad& load) {
  return {1.0, load.prefill_tokens * kPrefillScale, load.decode_sequences * kDecodeScale,
          static_cast<double>(load.kv_tokens) * kKvScale};
}

double StepCost::predict_s(const StepLoad& load) const {
  const Vector x = features(load);
  double sum = 0;
  for (int i = 0; i < kTerms; ++i) sum += weights_[i] * x[i];
  return sum;
}

double StepCost::prefill_room(const StepLoad& load, double target_s, double context) const {
  const double per_token = weights_[1] * kPrefillScale + weights_[3] * kKvScale * context;
  return (target_s - predict_s(load)) / std::max(per_token, 1e-9);
}

void StepCost::observe(const StepLoad& load, double seconds) {
  if (!std::isfinite(seconds)) return;
  seconds = std::max(seconds, 1e-6);
  const double off = std::clamp(std::log(seconds / std::max(predict_s(load), 1e-6)), -1.0, 1.0);
  surprise_ = kSurpriseFading * surprise_ + (1 - kSurpriseFading) * off;
  const double fading = std::abs(surprise_) > kSurprise ? kSurpriseFading : kFading;
  const Vector x = features(load);
  for (int i = 0; i < kTerms; ++i) {
    for (int j = 0; j < kTerms; ++j)
      products_[i][j] = fading * products_[i][j] + x[i] * x[j] / (seconds * seconds);
    moments_[i] = fading * moments_[i] + x[i] / seconds;
  }
  ++num_observed_;
  solve();
}

// Coordinate descent on the quadratic, each weight held at or above zero and tied softly to where it was.
void StepCost::solve() {
  const Vector before = weights_;
  Vector tie;
  for (int i = 0; i < kTerms; ++i) tie[i] = kInertia * std::max(products_[i][i], products_[0][0]);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = 0; i < kTerms; ++i) {
      double gradient = moments_[i] + tie[i] * before[i];
      for (int j = 0; j < kTerms; ++j)
        if (j != i) gradient -= products_[i][j] * weights_[j];
      weights_[i] = std::max(0.0, gradient / (products_[i][i] + tie[i]));
    }
  }
}

}  // namespace kvasir::sched

#include "sched/step_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kvasir::sched {

namespace {

// Older steps fade: a step's weight falls to 1/e after 200 further steps.
constexpr double kFading = 1.0 - 1.0 / 200;
// If recent predictions were off in one direction by about a quarter, the device has changed, and older steps
// fade faster.
constexpr double kSurprise = 0.25;
constexpr double kSurpriseFading = 0.9;
// How strongly a weight is tied to its old value, in steps' worth of evidence. It keeps weights that recent
// steps say nothing about.
constexpr double kInertia = 1e-3;
constexpr int kSweeps = 24;

// The row counts at which segments begin; the last segment is open. A single row has a kernel of its own, so
// a second row may cost much. A CPU's cost bends in the first segments (steps of 1, 8, 16, 32 and 64 rows
// took 50, 91, 140, 216 and 385 ms on one), a GPU's near 200 rows.
constexpr std::array<int, 10> kBends = {0, 2, 8, 16, 32, 64, 128, 256, 512, 1 << 30};
// Scales that bring the features near 1, so that one inertia suits all of them.
constexpr std::array<double, 9> kRowScales = {1.0 / 2,  1.0 / 8,   1.0 / 8,   1.0 / 16, 1.0 / 32,
                                              1.0 / 64, 1.0 / 128, 1.0 / 256, 1.0 / 512};
constexpr double kDecodeScale = 1.0 / 4;
constexpr double kKvScale = 1.0 / 4096;
constexpr double kPrefillKvScale = 1.0 / 16384;

// The prior: a small laptop CPU with a model of about a billion weights, so that the first chunks are too
// small rather than too large.
constexpr double kFirstStepS = 0.005;
constexpr double kFirstRowS = 0.002;
constexpr double kFirstDecodeS = 0.018;
constexpr double kFirstKvS = 1e-6;
constexpr double kFirstPrefillKvS = 1e-7;

}  // namespace

StepCost::StepCost() : weights_{kFirstStepS} {
  for (int i = 0; i < kSegments; ++i) weights_[i + 1] = kFirstRowS / kRowScales[i];
  weights_[kDecode] = kFirstDecodeS / kDecodeScale;
  weights_[kDecodeKv] = kFirstKvS / kKvScale;
  weights_[kPrefillKv] = kFirstPrefillKvS / kPrefillKvScale;
}

StepCost::Vector StepCost::features(const StepLoad& load) {
  Vector x{1.0};
  for (int i = 0; i < kSegments; ++i)
    x[i + 1] = (std::clamp(load.num_rows(), kBends[i], kBends[i + 1]) - kBends[i]) * kRowScales[i];
  x[kDecode] = load.decode_sequences * kDecodeScale;
  x[kDecodeKv] = static_cast<double>(load.kv_tokens) * kKvScale;
  x[kPrefillKv] = static_cast<double>(load.prefill_kv_tokens) * kPrefillKvScale;
  return x;
}

double StepCost::row_s(int segment) const {
  return weights_[segment + 1] * kRowScales[segment];
}

double StepCost::predict_s(const StepLoad& load) const {
  // The same sum as over `features`, but skips segments that the rows do not reach.
  const int rows = load.num_rows();
  double sum = weights_[0];
  for (int i = 0; i < kSegments && kBends[i] < rows; ++i)
    sum += weights_[i + 1] * ((std::min(rows, kBends[i + 1]) - kBends[i]) * kRowScales[i]);
  sum += weights_[kDecode] * (load.decode_sequences * kDecodeScale);
  sum += weights_[kDecodeKv] * (static_cast<double>(load.kv_tokens) * kKvScale);
  return sum + weights_[kPrefillKv] * (static_cast<double>(load.prefill_kv_tokens) * kPrefillKvScale);
}

int StepCost::prefill_room(const StepLoad& load, double target_s, int most) const {
  const auto fits_in = [&](int tokens) {
    StepLoad more = load;
    more.prefill_tokens += tokens;
    return predict_s(more) <= target_s;
  };
  // All rows of a segment cost the same, which gives the answer up to rounding.
  int guess = 0;
  double left_s = target_s - predict_s(load);
  for (int i = 0; i < kSegments && left_s > 0 && guess < most; ++i) {
    const int num_here = std::min(kBends[i + 1] - load.num_rows(), most) - guess;
    if (num_here <= 0) continue;
    const double fit = left_s / row_s(i);  // infinite where rows cost nothing
    if (fit < num_here) {
      guess += static_cast<int>(fit);
      break;
    }
    guess += num_here;
    left_s -= num_here * row_s(i);
  }
  int fits = 0;
  int too_many = most + 1;
  for (const int tokens : {guess, guess + 1})
    if (fits < tokens && tokens < too_many) (fits_in(tokens) ? fits : too_many) = tokens;
  while (too_many - fits > 1) {
    const int tokens = fits + (too_many - fits) / 2;
    (fits_in(tokens) ? fits : too_many) = tokens;
  }
  return fits;
}

double StepCost::prefill_s(int tokens, int num_computed) const {
  // Uses the row cost of the segment that large steps reach. On a GPU that is the last one.
  const auto end = std::ranges::upper_bound(kBends, std::max(1, most_rows_) - 1);
  const int segment = std::clamp(static_cast<int>(end - kBends.begin()) - 1, 0, kSegments - 1);
  const double pairs = static_cast<double>(tokens) * (num_computed + tokens / 2.0);
  return tokens * row_s(segment) + pairs * weights_[kPrefillKv] * kPrefillKvScale;
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
  most_rows_ = std::max(most_rows_, load.num_rows());
  solve();
  guess_rows_not_seen();
}

// Coordinate descent on the quadratic. Each weight stays at or above zero and is tied softly to its old
// value.
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

void StepCost::guess_rows_not_seen() {
  const double mean_s = predict_s({.prefill_tokens = most_rows_}) / std::max(1, most_rows_);
  for (int i = 0; i < kSegments; ++i)
    if (kBends[i] >= most_rows_) weights_[i + 1] = mean_s / kRowScales[i];
}

}  // namespace kvasir::sched

#pragma once

#include <array>
#include <cstdint>

namespace kvasir::sched {

// What a step has to do, in the words that its time depends on.
struct StepLoad {
  int prefill_tokens = 0;      // rows of slices with more than one row
  int decode_sequences = 0;    // slices with one row
  std::int64_t kv_tokens = 0;  // summed over the rows: the tokens that each attends to
};

// Predicts a step's time as a sum of non-negative costs (per step, prefill token, decode sequence and KV
// token) and calibrates itself from the steps it is shown: least squares on the relative error, with older
// steps fading, so that a step that was held up for long moves it little. Not thread-safe.
class StepCost {
 public:
  StepCost();

  double predict_s(const StepLoad& load) const;
  // The prefill tokens, each attending to `context` others, that can be added to `load` within `target_s`.
  // May be negative when `load` alone is over it.
  double prefill_room(const StepLoad& load, double target_s, double context) const;

  void observe(const StepLoad& load, double seconds);
  std::int64_t num_observed() const { return num_observed_; }

 private:
  static constexpr int kTerms = 4;
  using Vector = std::array<double, kTerms>;

  static Vector features(const StepLoad& load);
  void solve();

  Vector weights_;                         // in the units of `features`
  std::array<Vector, kTerms> products_{};  // faded sum of x xᵀ / seconds²
  Vector moments_{};                       // faded sum of x / seconds
  double surprise_ = 0;                    // recent mean of log(real / predicted), each at most 1
  std::int64_t num_observed_ = 0;
};

}  // namespace kvasir::sched

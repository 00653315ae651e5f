#pragma once

#include <array>
#include <cstdint>

namespace kvasir::sched {

// What a step has to do, in the words that its time depends on.
struct StepLoad {
  int prefill_tokens = 0;              // rows of slices with more than one row
  int decode_sequences = 0;            // slices with one row
  std::int64_t kv_tokens = 0;          // summed over the single rows: the tokens that each attends to
  std::int64_t prefill_kv_tokens = 0;  // the same, summed over the prefill rows, which share what they read

  int num_rows() const { return prefill_tokens + decode_sequences; }
  // A slice of `rows` rows that comes after `num_computed` tokens.
  void add(int num_computed, int rows) {
    (rows == 1 ? decode_sequences : prefill_tokens) += rows;
    (rows == 1 ? kv_tokens : prefill_kv_tokens) +=
        std::int64_t{rows} * num_computed + std::int64_t{rows} * (rows + 1) / 2;
  }
};

// Predicts a step's time as a sum of non-negative costs: of the step, of its rows, of single rows and of the
// KV tokens read. A row's cost depends on how many there are. Where reading the weights is what a step waits
// for, further rows are free; where arithmetic is, large batches use it better than small ones. So the rows'
// cost is a line with bends at powers of two.
// Calibrates itself from the steps it is shown: least squares on the relative error, with older steps fading,
// so that a step that was held up for long moves it little. Rows beyond the most that were ever seen count
// with the mean cost of a row, which is rather too much. Not thread-safe.
class StepCost {
 public:
  StepCost();

  double predict_s(const StepLoad& load) const;
  // The most prefill tokens, up to `most`, that can be added to `load` within `target_s`, what they attend to
  // not counted. 0 when `load` alone is over it.
  int prefill_room(const StepLoad& load, double target_s, int most) const;
  // What `tokens` more of a prompt with `num_computed` tokens take, in steps that have plenty of rows.
  double prefill_s(int tokens, int num_computed) const;

  void observe(const StepLoad& load, double seconds);
  std::int64_t num_observed() const { return num_observed_; }

 private:
  static constexpr int kSegments = 8;  // of rows, between the bends
  static constexpr int kDecode = kSegments + 1;
  static constexpr int kDecodeKv = kSegments + 2;
  static constexpr int kPrefillKv = kSegments + 3;
  static constexpr int kTerms = kSegments + 4;
  using Vector = std::array<double, kTerms>;

  static Vector features(const StepLoad& load);
  double row_s(int segment) const;
  void solve();
  void guess_rows_not_seen();

  Vector weights_;                         // in the units of `features`
  std::array<Vector, kTerms> products_{};  // faded sum of x xᵀ / seconds²
  Vector moments_{};                       // faded sum of x / seconds
  double surprise_ = 0;                    // recent mean of log(real / predicted), each at most 1
  int most_rows_ = 0;                      // of a step that was seen
  std::int64_t num_observed_ = 0;
};

}  // namespace kvasir::sched

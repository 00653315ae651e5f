#pragma once

#include <array>
#include <cstdint>

namespace kvasir::sched {

// The properties of a step that determine its time.
struct StepLoad {
  int prefill_tokens = 0;              // rows of slices with more than one row
  int decode_sequences = 0;            // slices with one row
  std::int64_t kv_tokens = 0;          // tokens that single rows attend to, summed over the rows
  std::int64_t prefill_kv_tokens = 0;  // as above, for prefill rows, which share what they read

  int num_rows() const { return prefill_tokens + decode_sequences; }
  // Adds a slice of `rows` rows after `num_computed` tokens.
  void add(int num_computed, int rows) {
    (rows == 1 ? decode_sequences : prefill_tokens) += rows;
    (rows == 1 ? kv_tokens : prefill_kv_tokens) += attended(num_computed, rows);
  }
  void remove(int num_computed, int rows) {
    (rows == 1 ? decode_sequences : prefill_tokens) -= rows;
    (rows == 1 ? kv_tokens : prefill_kv_tokens) -= attended(num_computed, rows);
  }

 private:
  static std::int64_t attended(int num_computed, int rows) {
    return std::int64_t{rows} * num_computed + std::int64_t{rows} * (rows + 1) / 2;
  }
};

// Predicts a step's time as a sum of non-negative costs: for the step, its rows, its single rows and the KV
// tokens read. The cost of a row depends on the number of rows: further rows are free while a step waits for
// the weights to be read, and large batches use arithmetic better than small ones. So the rows' cost is a
// piecewise linear function with bends at powers of two.
// Learns from the steps that it is shown, by least squares on the relative error with fading weights, so that
// one delayed step changes it little. Rows beyond the largest step seen are assumed to cost the mean of a
// row, which is rather too much. Not thread-safe.
class StepCost {
  static constexpr int kSegments = 9;  // segments of rows between the bends
  static constexpr int kTerms = kSegments + 4;

 public:
  // Everything that predictions need. Further state that learning needs stays in the object that learns.
  struct Learned {
    std::array<double, kTerms> weights{};
    int most_rows = 0;
    std::int64_t num_observed = 0;
  };

  StepCost();
  // Predicts like the object whose `learned()` this is.
  explicit StepCost(const Learned& learned)
      : weights_(learned.weights), most_rows_(learned.most_rows), num_observed_(learned.num_observed) {}

  double predict_s(const StepLoad& load) const;
  // The most prefill tokens, up to `most`, that fit beside `load` into `target_s`, without counting what they
  // attend to. 0 if `load` alone exceeds the target.
  int prefill_room(const StepLoad& load, double target_s, int most) const;
  // The time for the next `tokens` of a prompt after `num_computed` tokens, in steps with many rows.
  double prefill_s(int tokens, int num_computed) const;

  void observe(const StepLoad& load, double seconds);
  std::int64_t num_observed() const { return num_observed_; }
  Learned learned() const { return {weights_, most_rows_, num_observed_}; }

 private:
  static constexpr int kDecode = kSegments + 1;
  static constexpr int kDecodeKv = kSegments + 2;
  static constexpr int kPrefillKv = kSegments + 3;
  using Vector = std::array<double, kTerms>;

  static Vector features(const StepLoad& load);
  double row_s(int segment) const;
  void solve();
  void guess_rows_not_seen();

  Vector weights_;                         // in the units of `features`
  std::array<Vector, kTerms> products_{};  // faded sum of x xᵀ / seconds²
  Vector moments_{};                       // faded sum of x / seconds
  double surprise_ = 0;                    // recent mean of log(real / predicted), each clamped to [-1, 1]
  int most_rows_ = 0;                      // of any observed step
  std::int64_t num_observed_ = 0;
};

}  // namespace kvasir::sched

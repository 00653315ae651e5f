#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::sample {

// These functions loop over a whole vocabulary. The loops have fixed lanes, so that compilers vectorise them
// and every run adds in the same order.

// The largest value and its first index. The value is -inf if there are no values, and +inf if any value is
// NaN or +inf.
struct Largest {
  float value;
  std::size_t index;
};
Largest largest(std::span<const float> logits);

// weights[i] is exp((logits[i] - max) / temperature), or 0 if that is less than 1e-37 of the largest weight.
// `block_sums` has the sum of every kSumBlock weights; the last block may be shorter.
inline constexpr std::size_t kSumBlock = 1024;
struct Softmax {
  std::vector<float> weights;
  std::vector<double> block_sums;
  double total = 0;
};
void softmax(std::span<const float> logits, float max, float temperature, Softmax& out);

// Returns the log of the sum of exp(logits).
double log_sum_exp(std::span<const float> logits, float max);

}  // namespace kvasir::sample

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::sample {

// Loops over a whole vocabulary, written in fixed lanes, so that compilers vectorise them and every run adds
// in the same order.

// The largest value and its first index; -inf if there are no values. If any value is a NaN or +inf, the
// result is +inf.
struct Largest {
  float value;
  std::size_t index;
};
Largest largest(std::span<const float> logits);

// weights[i] = exp((logits[i] - max) / temperature); 0 if it is less than 1e-37 of the largest. Also gives
// the sum of every kSumBlock weights; the last block may be shorter.
inline constexpr std::size_t kSumBlock = 1024;
struct Softmax {
  std::vector<float> weights;
  std::vector<double> block_sums;
  double total = 0;
};
void softmax(std::span<const float> logits, float max, float temperature, Softmax& out);

// log of the sum of exp(logits).
double log_sum_exp(std::span<const float> logits, float max);

}  // namespace kvasir::sample

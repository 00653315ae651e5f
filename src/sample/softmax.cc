#include "sample/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kvasir::sample {

namespace {

constexpr std::size_t kLanes = 16;
constexpr float kInf = std::numeric_limits<float>::infinity();

// Returns exp(x) for x <= 0 as 2^n * p(r) with |r| <= ln(2) / 2. The relative error is under 2e-7. Has no
// branches.
inline float exp_negative(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float kept = x < -85.0f ? -85.0f : x;
  const float shifted = kept * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (kept - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t exponent =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound) + 127;
  const float power = std::bit_cast<float>(exponent << 23);
  return x < -85.0f ? 0.0f : p * power;
}

double sum_of(const std::array<float, kLanes>& lanes) {
  double sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Takes at most kSumBlock values, so that a float lane adds at most 64 of them.
double weigh(std::span<const float> logits, float max, float scale, float* weights) {
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float w = exp_negative((logits[i + l] - max) * scale);
      weights[i + l] = w;
      lanes[l] += w;
    }
  }
  for (std::size_t l = 0; i < logits.size(); ++i, ++l) {
    weights[i] = exp_negative((logits[i] - max) * scale);
    lanes[l] += weights[i];
  }
  return sum_of(lanes);
}

float largest_of_block(std::span<const float> logits) {
  std::array<float, kLanes> lanes;
  std::array<std::int32_t, kLanes> bad{};
  lanes.fill(-kInf);
  std::size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float x = logits[i + l];
      lanes[l] = x > lanes[l] ? x : lanes[l];
      bad[l] |= x < kInf ? 0 : 1;
    }
  }
  for (std::size_t l = 0; i < logits.size(); ++i, ++l) {
    lanes[l] = std::max(lanes[l], logits[i]);
    bad[l] |= logits[i] < kInf ? 0 : 1;
  }
  return std::ranges::find(bad, 1) != bad.end() ? kInf : std::ranges::max(lanes);
}

}  // namespace

Largest largest(std::span<const float> logits) {
  float best = -kInf;
  std::size_t best_block = 0;
  for (std::size_t i = 0; i < logits.size(); i += kSumBlock) {
    const float block = largest_of_block(logits.subspan(i, std::min(kSumBlock, logits.size() - i)));
    if (block == kInf) return {kInf, i};
    if (block > best) {
      best = block;
      best_block = i;
    }
  }
  const auto rest = logits.subspan(best_block);
  return {best, best_block + static_cast<std::size_t>(std::ranges::find(rest, best) - rest.begin())};
}

void softmax(std::span<const float> logits, float max, float temperature, Softmax& out) {
  const float scale = 1.0f / std::max(temperature, 1e-6f);
  out.weights.resize(logits.size());
  out.block_sums.clear();
  out.total = 0;
  for (std::size_t i = 0; i < logits.size(); i += kSumBlock) {
    const std::size_t n = std::min(kSumBlock, logits.size() - i);
    out.block_sums.push_back(weigh(logits.subspan(i, n), max, scale, out.weights.data() + i));
    out.total += out.block_sums.back();
  }
}

double log_sum_exp(std::span<const float> logits, float max) {
  std::array<float, kSumBlock> weights;
  double total = 0;
  for (std::size_t i = 0; i < logits.size(); i += kSumBlock) {
    const std::size_t n = std::min(kSumBlock, logits.size() - i);
    total += weigh(logits.subspan(i, n), max, 1.0f, weights.data());
  }
  return static_cast<double>(max) + std::log(total);
}

}  // namespace kvasir::sample

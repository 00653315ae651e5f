#include "ops/quant/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "ops/quant/dequantize.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::ops {

using tensor::DType;

namespace {

// Stores the number as f16 and returns what a reader will get.
float store(float value, Half& half) {
  const std::uint16_t bits = f32_to_f16(value);
  std::memcpy(half, &bits, sizeof(bits));
  return f16_to_f32(bits);
}

int rounded(float value, int low, int high) {
  return static_cast<int>(std::lround(std::clamp(value, static_cast<float>(low), static_cast<float>(high))));
}

float inverse(float value) {
  return value == 0 ? 0 : 1 / value;
}

// Returns the number that is furthest from zero, with its sign.
float extreme(std::span<const float> values) {
  return *std::ranges::max_element(values, {}, [](float value) { return std::abs(value); });
}

// Returns the scale d for which d * q, with q in [low, high], is nearest to the values. Tries candidates
// around the scale that just covers the values, improves each by least squares, and takes the one with the
// least square error.
float best_scale(std::span<const float> values, int low, int high) {
  const float largest = extreme(values);
  if (largest == 0) return 0;
  float best = 0;
  double best_gain = 0;  // (Σxq)² / Σqq: by how much the square error is below Σxx
  for (int step = -9; step <= 9; ++step) {
    const float per_step = (static_cast<float>(low) - 0.1f * static_cast<float>(step)) / largest;
    double xq = 0;
    double qq = 0;
    for (const float value : values) {
      const int q = rounded(value * per_step, low, high);
      xq += static_cast<double>(value) * q;
      qq += static_cast<double>(q) * q;
    }
    if (qq > 0 && xq * xq / qq > best_gain) {
      best_gain = xq * xq / qq;
      best = static_cast<float>(xq / qq);
    }
  }
  return best;
}

// value = scale * q - minimum, for q in [0, 15]. The minimum is at least 0.
struct Affine {
  float scale = 0;
  float minimum = 0;
};

double square_error(std::span<const float> values, Affine fit) {
  const float per_step = inverse(fit.scale);
  double error = 0;
  for (const float value : values) {
    const int q = rounded((value + fit.minimum) * per_step, 0, 15);
    const double off = static_cast<double>(fit.scale) * q - fit.minimum - value;
    error += off * off;
  }
  return error;
}

// Keeps the q that `fit` gives each value, and fits scale and minimum to them anew by least squares.
Affine refit(std::span<const float> values, Affine fit) {
  const float per_step = inverse(fit.scale);
  double n = 0, q1 = 0, q2 = 0, x1 = 0, xq = 0;
  for (const float value : values) {
    const double q = rounded((value + fit.minimum) * per_step, 0, 15);
    n += 1;
    q1 += q;
    q2 += q * q;
    x1 += value;
    xq += q * value;
  }
  const double determinant = n * q2 - q1 * q1;
  if (determinant <= 0) return fit;
  const double scale = (n * xq - q1 * x1) / determinant;
  const double offset = (q2 * x1 - q1 * xq) / determinant;
  if (scale <= 0) return fit;
  if (offset > 0) return {static_cast<float>(xq / q2), 0};
  return {static_cast<float>(scale), static_cast<float>(-offset)};
}

Affine best_affine(std::span<const float> values) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  const float low = std::min(lowest, 0.0f);
  if (highest <= low) return {0, -low};
  Affine best{(highest - low) / 15, -low};
  double best_error = square_error(values, best);
  for (int step = -6; step <= 14; ++step) {
    const Affine start{(highest - low) / (15 + 0.1f * static_cast<float>(step)), -low};
    const Affine fit = refit(values, start);
    const double error = square_error(values, fit);
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best;
}

void quantize_block(std::span<const float> values, BlockQ8_0& block) {
  const float d = store(std::abs(extreme(values)) / 127, block.d);
  const float per_step = inverse(d);
  for (std::size_t i = 0; i < 32; ++i)
    block.qs[i] = static_cast<std::int8_t>(rounded(values[i] * per_step, -127, 127));
}

void quantize_block(std::span<const float> values, BlockQ4_0& block) {
  const float per_step = inverse(store(best_scale(values, -8, 7), block.d));
  for (std::size_t i = 0; i < 16; ++i) {
    const int low = rounded(values[i] * per_step, -8, 7) + 8;
    const int high = rounded(values[i + 16] * per_step, -8, 7) + 8;
    block.qs[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

void quantize_block(std::span<const float> values, BlockQ4K& block) {
  std::array<Affine, 8> fits;
  for (std::size_t g = 0; g < 8; ++g) fits[g] = best_affine(values.subspan(g * 32, 32));
  const float d = store(std::ranges::max(fits, {}, &Affine::scale).scale / 63, block.d);
  const float dmin = store(std::ranges::max(fits, {}, &Affine::minimum).minimum / 63, block.dmin);
  std::array<int, 8> scales{};
  std::array<int, 8> minima{};
  for (std::size_t g = 0; g < 8; ++g) {
    scales[g] = rounded(fits[g].scale * inverse(d), 0, 63);
    minima[g] = rounded(fits[g].minimum * inverse(dmin), 0, 63);
  }
  for (std::size_t g = 0; g < 4; ++g) {
    block.scales[g] = static_cast<std::uint8_t>(scales[g] | scales[g + 4] >> 4 << 6);
    block.scales[g + 4] = static_cast<std::uint8_t>(minima[g] | minima[g + 4] >> 4 << 6);
    block.scales[g + 8] = static_cast<std::uint8_t>((scales[g + 4] & 15) | (minima[g + 4] & 15) << 4);
  }
  const auto q_at = [&](std::size_t g, std::size_t i) {
    const float minimum = dmin * static_cast<float>(minima[g]);
    return rounded((values[g * 32 + i] + minimum) * inverse(d * static_cast<float>(scales[g])), 0, 15);
  };
  for (std::size_t pair = 0; pair < 4; ++pair) {
    for (std::size_t i = 0; i < 32; ++i)
      block.qs[pair * 32 + i] = static_cast<std::uint8_t>(q_at(2 * pair, i) | q_at(2 * pair + 1, i) << 4);
  }
}

void quantize_block(std::span<const float> values, BlockQ6K& block) {
  std::array<float, 16> scales{};
  for (std::size_t g = 0; g < 16; ++g) scales[g] = best_scale(values.subspan(g * 16, 16), -32, 31);
  const float d = store(extreme(scales) / -128, block.d);
  std::array<int, 256> q{};
  for (std::size_t g = 0; g < 16; ++g) {
    const int scale = rounded(scales[g] * inverse(d), -128, 127);
    block.scales[g] = static_cast<std::int8_t>(scale);
    const float per_step = inverse(d * static_cast<float>(scale));
    for (std::size_t i = g * 16; i < g * 16 + 16; ++i) q[i] = rounded(values[i] * per_step, -32, 31) + 32;
  }
  for (std::size_t half = 0; half < 2; ++half) {
    const int* at = q.data() + half * 128;
    for (std::size_t i = 0; i < 32; ++i) {
      block.ql[half * 64 + i] = static_cast<std::uint8_t>((at[i] & 15) | (at[i + 64] & 15) << 4);
      block.ql[half * 64 + 32 + i] = static_cast<std::uint8_t>((at[i + 32] & 15) | (at[i + 96] & 15) << 4);
      block.qh[half * 32 + i] = static_cast<std::uint8_t>(at[i] >> 4 | at[i + 32] >> 4 << 2 |
                                                          at[i + 64] >> 4 << 4 | at[i + 96] >> 4 << 6);
    }
  }
}

template <class Block>
void quantize_blocks(std::span<const float> values, std::size_t block_elems, std::byte* out) {
  std::array<float, 256> finite{};
  for (std::size_t first = 0; first < values.size(); first += block_elems, out += sizeof(Block)) {
    std::ranges::transform(values.subspan(first, block_elems), finite.begin(),
                           [](float value) { return std::isfinite(value) ? value : 0; });
    Block block;
    quantize_block(std::span(finite).first(block_elems), block);
    std::memcpy(out, &block, sizeof(block));
  }
}

template <class Convert>
void convert_halves(std::span<const float> values, std::byte* out, Convert convert) {
  for (const float value : values) {
    const std::uint16_t bits = convert(value);
    std::memcpy(out, &bits, sizeof(bits));
    out += sizeof(bits);
  }
}

}  // namespace

bool can_quantize(DType type) {
  return tensor::info(type).block_elems == 1 || type == DType::q8_0 || type == DType::q4_0 ||
         type == DType::q4_k || type == DType::q6_k;
}

void quantize(DType type, std::span<const float> values, std::byte* out) {
  const auto block_elems = static_cast<std::size_t>(tensor::info(type).block_elems);
  CHECK(values.size() % block_elems == 0, "{} numbers in blocks of {}", values.size(), block_elems);
  switch (type) {
    case DType::f32:
      std::memcpy(out, values.data(), values.size_bytes());
      return;
    case DType::f16:
      return convert_halves(values, out, f32_to_f16);
    case DType::bf16:
      return convert_halves(values, out, f32_to_bf16);
    case DType::q8_0:
      return quantize_blocks<BlockQ8_0>(values, block_elems, out);
    case DType::q4_0:
      return quantize_blocks<BlockQ4_0>(values, block_elems, out);
    case DType::q4_k:
      return quantize_blocks<BlockQ4K>(values, block_elems, out);
    case DType::q6_k:
      return quantize_blocks<BlockQ6K>(values, block_elems, out);
    default:
      CHECK(false, "no quantiser for {}", tensor::info(type).name);
  }
}

}  // namespace kvasir::ops

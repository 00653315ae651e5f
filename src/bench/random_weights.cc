#include "bench/random_weights.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "ops/quant/dequantize.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::bench {

using tensor::DType;

namespace {

constexpr float kDeviation = 0.02f;

// The places of a block's scale and, for types with a minimum, its minimum. Both are f16. If all other bits
// are random, a weight has mean 0 and a deviation of scale * `spread`.
struct ScalePlaces {
  DType type;
  int scale_at;
  float spread;
  int minimum_at = -1;
  float minimum_ratio = 0;  // the minimum divided by the scale
};

constexpr std::array kPlaces = {
    ScalePlaces{DType::q8_0, offsetof(ops::BlockQ8_0, d), 74},
    ScalePlaces{DType::q4_0, offsetof(ops::BlockQ4_0, d), 4.6f},
    ScalePlaces{DType::q4_1, offsetof(ops::BlockQ4_1, d), 4.6f, offsetof(ops::BlockQ4_1, m), -7.5f},
    ScalePlaces{DType::q5_0, offsetof(ops::BlockQ5_0, d), 9.2f},
    ScalePlaces{DType::q5_1, offsetof(ops::BlockQ5_1, d), 9.2f, offsetof(ops::BlockQ5_1, m), -15.5f},
    ScalePlaces{DType::q2_k, offsetof(ops::BlockQ2K, d), 15, offsetof(ops::BlockQ2K, dmin), 1.5f},
    ScalePlaces{DType::q3_k, offsetof(ops::BlockQ3K, d), 42},
    ScalePlaces{DType::q4_k, offsetof(ops::BlockQ4K, d), 250, offsetof(ops::BlockQ4K, dmin), 7.5f},
    ScalePlaces{DType::q5_k, offsetof(ops::BlockQ5K, d), 510, offsetof(ops::BlockQ5K, dmin), 15.5f},
    ScalePlaces{DType::q6_k, offsetof(ops::BlockQ6K, d), 1370},
    ScalePlaces{DType::iq4_nl, offsetof(ops::BlockQ4_0, d), 68},
    ScalePlaces{DType::iq4_xs, offsetof(ops::BlockIQ4_XS, d), 1250},
    ScalePlaces{DType::iq2_xxs, offsetof(ops::BlockIQ2_XXS, d), 62},
    ScalePlaces{DType::iq3_xxs, offsetof(ops::BlockIQ3_XXS, d), 160},
};

const ScalePlaces* find_places(DType type) {
  for (const ScalePlaces& places : kPlaces)
    if (places.type == type) return &places;
  return nullptr;
}

bool is_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

void fill_floats(DType type, Random& random, std::span<std::byte> bytes) {
  const auto size = static_cast<std::size_t>(tensor::info(type).block_bytes);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    // The value is uniform between plus and minus sqrt(3) deviations.
    const float value = static_cast<float>(2 * random.uniform() - 1) * kDeviation * 1.732f;
    if (type == DType::f32) {
      std::memcpy(&bytes[at], &value, 4);
    } else if (type == DType::f16) {
      const std::uint16_t half = ops::f32_to_f16(value);
      std::memcpy(&bytes[at], &half, 2);
    } else {
      std::uint32_t word = 0;
      std::memcpy(&word, &value, 4);
      const auto high = static_cast<std::uint16_t>(word >> 16);
      std::memcpy(&bytes[at], &high, 2);
    }
  }
}

void fill_bits(Random& random, std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t bits = random.bits();
    std::memcpy(&bytes[at], &bits, std::min<std::size_t>(8, bytes.size() - at));
  }
}

}  // namespace

base::Status check_random_type(DType type) {
  if (is_float(type) || find_places(type) != nullptr) return base::ok();
  return base::error(base::ErrorCode::unsupported, "no random weights of type {}", tensor::info(type).name);
}

void fill_random(DType type, Random& random, std::span<std::byte> bytes) {
  if (is_float(type)) return fill_floats(type, random, bytes);
  const ScalePlaces* places = find_places(type);
  CHECK(places != nullptr, "no random weights of type {}", tensor::info(type).name);
  fill_bits(random, bytes);
  const float scale = kDeviation / places->spread;
  const std::uint16_t scale_bits = ops::f32_to_f16(scale);
  const std::uint16_t minimum_bits = ops::f32_to_f16(scale * places->minimum_ratio);
  const auto block_bytes = static_cast<std::size_t>(tensor::info(type).block_bytes);
  for (std::size_t at = 0; at + block_bytes <= bytes.size(); at += block_bytes) {
    std::memcpy(&bytes[at + static_cast<std::size_t>(places->scale_at)], &scale_bits, 2);
    if (places->minimum_at >= 0)
      std::memcpy(&bytes[at + static_cast<std::size_t>(places->minimum_at)], &minimum_bits, 2);
  }
}

}  // namespace kvasir::bench

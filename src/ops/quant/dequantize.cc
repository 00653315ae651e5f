#include "ops/quant/dequantize.h"

#include <bit>
#include <cstring>

#include "base/check.h"
#include "ops/quant/grid_codes.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::ops {
namespace {

float value(const Half& h) {
  return f16_to_f32(bits_of(h));
}

void decode(const BlockQ8_0& b, float* y) {
  const float d = value(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(b.qs[j]);
}

void decode(const BlockQ4_0& b, float* y) {
  const float d = value(b.d);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * static_cast<float>((b.qs[j] & 15) - 8);
    y[j + 16] = d * static_cast<float>((b.qs[j] >> 4) - 8);
  }
}

void decode(const BlockQ4_1& b, float* y) {
  const float d = value(b.d);
  const float m = value(b.m);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * static_cast<float>(b.qs[j] & 15) + m;
    y[j + 16] = d * static_cast<float>(b.qs[j] >> 4) + m;
  }
}

template <class Block>
int five_bits(const Block& b, int j) {
  const int low = j < 16 ? b.qs[j] & 15 : b.qs[j - 16] >> 4;
  return low | (b.qh[j / 8] >> (j % 8) & 1) << 4;
}

void decode(const BlockQ5_0& b, float* y) {
  const float d = value(b.d);
  for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(five_bits(b, j) - 16);
}

void decode(const BlockQ5_1& b, float* y) {
  const float d = value(b.d);
  const float m = value(b.m);
  for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(five_bits(b, j)) + m;
}

void decode(const BlockQ2K& b, float* y) {
  const float d = value(b.d);
  const float dmin = value(b.dmin);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(b.scales[i / 16] & 15);
    const float minimum = dmin * static_cast<float>(b.scales[i / 16] >> 4);
    const int q = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    y[i] = scale * static_cast<float>(q) - minimum;
  }
}

void decode(const BlockQ3K& b, float* y) {
  const float d = value(b.d);
  for (int i = 0; i < 256; ++i) {
    const float scale = d * static_cast<float>(scale_of_16(b, i / 16));
    const int low = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int high = b.hmask[i % 32] >> (i / 32) & 1;
    y[i] = scale * static_cast<float>(low - (high == 0 ? 4 : 0));
  }
}

void decode(const BlockQ4K& b, float* y) {
  const float d = value(b.d);
  const float dmin = value(b.dmin);
  for (int g = 0; g < 8; ++g) {
    const float scale = d * static_cast<float>(scale_of_group(b.scales, g));
    const float minimum = dmin * static_cast<float>(minimum_of_group(b.scales, g));
    for (int l = 0; l < 32; ++l) {
      const int q = b.qs[g / 2 * 32 + l] >> (g % 2 * 4) & 15;
      y[g * 32 + l] = scale * static_cast<float>(q) - minimum;
    }
  }
}

void decode(const BlockQ5K& b, float* y) {
  const float d = value(b.d);
  const float dmin = value(b.dmin);
  for (int g = 0; g < 8; ++g) {
    const float scale = d * static_cast<float>(scale_of_group(b.scales, g));
    const float minimum = dmin * static_cast<float>(minimum_of_group(b.scales, g));
    for (int l = 0; l < 32; ++l) {
      const int q = (b.qs[g / 2 * 32 + l] >> (g % 2 * 4) & 15) | (b.qh[l] >> g & 1) << 4;
      y[g * 32 + l] = scale * static_cast<float>(q) - minimum;
    }
  }
}

void decode(const BlockQ6K& b, float* y) {
  const float d = value(b.d);
  for (int i = 0; i < 256; ++i) {
    y[i] = d * static_cast<float>(b.scales[i / 16]) * static_cast<float>(element(b, i) - 32);
  }
}

// IQ4_NL has the layout of Q4_0, but its nibbles are indices into a table.
struct BlockIQ4_NL : BlockQ4_0 {};

void decode(const BlockIQ4_NL& b, float* y) {
  const float d = value(b.d);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * static_cast<float>(kIq4Values[b.qs[j] & 15]);
    y[j + 16] = d * static_cast<float>(kIq4Values[b.qs[j] >> 4]);
  }
}

void decode(const BlockIQ4_XS& b, float* y) {
  const float d = value(b.d);
  for (int g = 0; g < 8; ++g) {
    const float scale = d * static_cast<float>(scale_of_group(b, g));
    for (int j = 0; j < 16; ++j) {
      y[g * 32 + j] = scale * static_cast<float>(kIq4Values[b.qs[g * 16 + j] & 15]);
      y[g * 32 + j + 16] = scale * static_cast<float>(kIq4Values[b.qs[g * 16 + j] >> 4]);
    }
  }
}

template <class Block>
void decode_grid(const Block& b, const std::int8_t (&values)[16], int divisor, float* y) {
  const float d = value(b.d) / static_cast<float>(divisor);
  for (int g = 0; g < 8; ++g) {
    const GridCodes codes = grid_codes(b, g);
    const float scale = d * static_cast<float>(codes.scale);
    for (int i = 0; i < 32; ++i) y[32 * g + i] = scale * static_cast<float>(values[codes.nibbles[i]]);
  }
}

void decode(const BlockIQ2_XXS& b, float* y) {
  decode_grid(b, kIq2Values, kIq2Divisor, y);
}

void decode(const BlockIQ3_XXS& b, float* y) {
  decode_grid(b, kIq3Values, kIq3Divisor, y);
}

template <class Block>
void decode_all(const std::byte* data, std::span<float> out, std::size_t block_elems) {
  const auto* blocks = reinterpret_cast<const Block*>(data);
  for (std::size_t i = 0; i < out.size() / block_elems; ++i) decode(blocks[i], &out[i * block_elems]);
}

template <float (*kConvert)(std::uint16_t)>
void convert_all(const std::byte* data, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, data + 2 * i, 2);
    out[i] = kConvert(bits);
  }
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fff) << 13;
  if (magnitude >= 0x0f800000) return std::bit_cast<float>(sign | magnitude | 0x7f800000);  // infinity, NaN
  // Read as an f32, the exponent is 112 too small. The multiplication corrects that, for subnormal numbers
  // too.
  return std::bit_cast<float>(sign |
                              std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f));
}

float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and above round to infinity
  if (magnitude < 0x38800000) {                       // below 2^-14: a subnormal, in units of 2^-24
    // Adding 0.5 leaves the number in those units in the mantissa, rounded to nearest even by the addition.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) - 0x3f000000);
  }
  const std::uint32_t odd = magnitude >> 13 & 1;
  return sign | static_cast<std::uint16_t>((magnitude - (112u << 23) + 0xfff + odd) >> 13);
}

std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void dequantize(tensor::DType type, const std::byte* data, std::span<float> out) {
  using tensor::DType;
  const auto block_elems = static_cast<std::size_t>(tensor::info(type).block_elems);
  CHECK(out.size() % block_elems == 0, "{} numbers of {}", out.size(), tensor::info(type).name);
  switch (type) {
    case DType::f32:
      std::memcpy(out.data(), data, out.size_bytes());
      return;
    case DType::f16:
      return convert_all<f16_to_f32>(data, out);
    case DType::bf16:
      return convert_all<bf16_to_f32>(data, out);
    case DType::q8_0:
      return decode_all<BlockQ8_0>(data, out, block_elems);
    case DType::q4_0:
      return decode_all<BlockQ4_0>(data, out, block_elems);
    case DType::q4_1:
      return decode_all<BlockQ4_1>(data, out, block_elems);
    case DType::q5_0:
      return decode_all<BlockQ5_0>(data, out, block_elems);
    case DType::q5_1:
      return decode_all<BlockQ5_1>(data, out, block_elems);
    case DType::q2_k:
      return decode_all<BlockQ2K>(data, out, block_elems);
    case DType::q3_k:
      return decode_all<BlockQ3K>(data, out, block_elems);
    case DType::q4_k:
      return decode_all<BlockQ4K>(data, out, block_elems);
    case DType::q5_k:
      return decode_all<BlockQ5K>(data, out, block_elems);
    case DType::q6_k:
      return decode_all<BlockQ6K>(data, out, block_elems);
    case DType::iq4_nl:
      return decode_all<BlockIQ4_NL>(data, out, block_elems);
    case DType::iq4_xs:
      return decode_all<BlockIQ4_XS>(data, out, block_elems);
    case DType::iq2_xxs:
      return decode_all<BlockIQ2_XXS>(data, out, block_elems);
    case DType::iq3_xxs:
      return decode_all<BlockIQ3_XXS>(data, out, block_elems);
  }
}

}  // namespace kvasir::ops

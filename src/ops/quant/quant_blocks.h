#pragma once

#include <cstddef>
#include <cstdint>

namespace kvasir::ops {

// GGUF's quantised blocks as stored in a file: only bytes, without padding or alignment. Two-byte fields
// named d, dmin and m are f16, little endian.
using Half = std::uint8_t[2];

struct BlockQ8_0 {
  Half d;
  std::int8_t qs[32];
};
struct BlockQ4_0 {
  Half d;
  std::uint8_t qs[16];  // byte j: elements j and j + 16
};
struct BlockQ4_1 {
  Half d;
  Half m;
  std::uint8_t qs[16];
};
struct BlockQ5_0 {
  Half d;
  std::uint8_t qh[4];  // bit j: the fifth bit of element j
  std::uint8_t qs[16];
};
struct BlockQ5_1 {
  Half d;
  Half m;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};
struct BlockQ2K {
  std::uint8_t scales[16];  // one for each 16 elements: scale in the low nibble, minimum in the high one
  std::uint8_t qs[64];
  Half d;
  Half dmin;
};
struct BlockQ3K {
  std::uint8_t hmask[32];
  std::uint8_t qs[64];
  std::uint8_t scales[12];
  Half d;
};
struct BlockQ4K {
  Half d;
  Half dmin;
  std::uint8_t scales[12];
  std::uint8_t qs[128];  // 32 bytes: the low nibbles are one group of 32, the high nibbles the next
};
struct BlockQ5K {
  Half d;
  Half dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];  // byte l, bit g: the fifth bit of element l of group g
  std::uint8_t qs[128];
};
struct BlockQ6K {
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  Half d;
};
struct BlockIQ4_XS {
  Half d;
  std::uint8_t scales_h[2];
  std::uint8_t scales_l[4];
  std::uint8_t qs[128];
};
struct BlockIQ2_XXS {
  Half d;
  std::uint8_t qs[64];  // for each 32 numbers: 4 indices into the grid, 4 * 7 bits of signs, 4 of scale
};
struct BlockIQ3_XXS {
  Half d;
  std::uint8_t qs[64];     // indices into the grid
  std::uint8_t signs[32];  // for each 32 numbers: 4 * 7 bits of signs and 4 of scale
};

static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24 && sizeof(BlockQ2K) == 84);
static_assert(sizeof(BlockQ3K) == 110 && sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176);
static_assert(sizeof(BlockQ6K) == 210 && sizeof(BlockIQ4_XS) == 136);
static_assert(sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ3_XXS) == 98);

// The numbers that the nibbles of IQ4_NL and IQ4_XS stand for.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

inline std::uint16_t bits_of(const Half& h) {
  return static_cast<std::uint16_t>(h[0] | h[1] << 8);
}

// The scale and minimum (6 bits each) of group g of 32, from the 12 bytes of a Q4_K or Q5_K block.
inline int scale_of_group(const std::uint8_t* packed, int g) {
  return g < 4 ? packed[g] & 63 : (packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4;
}
inline int minimum_of_group(const std::uint8_t* packed, int g) {
  return g < 4 ? packed[g + 4] & 63 : (packed[g + 4] >> 4) | (packed[g] >> 6) << 4;
}

// The scale (-32..31) of the g-th 16 elements of a Q3_K block.
inline int scale_of_16(const BlockQ3K& b, int g) {
  const int low = g < 8 ? b.scales[g] & 15 : b.scales[g - 8] >> 4;
  const int high = (b.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
  return (low | high << 4) - 32;
}

// The scale (-32..31) of group g of 32 of an IQ4_XS block.
inline int scale_of_group(const BlockIQ4_XS& b, int g) {
  const int low = (b.scales_l[g / 2] >> (4 * (g % 2))) & 15;
  const int high = (bits_of(b.scales_h) >> (2 * g)) & 3;
  return (low | high << 4) - 32;
}

// Element i of a Q6_K block, 0..63. Each half of the block has 64 bytes of ql and 32 of qh.
inline int element(const BlockQ6K& b, int i) {
  const int half = i / 128;
  const int quarter = i % 128 / 32;
  const int l = i % 32;
  const int low = b.ql[half * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
  return low | (b.qh[half * 32 + l] >> (2 * quarter) & 3) << 4;
}

}  // namespace kvasir::ops

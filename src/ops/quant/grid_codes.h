#pragma once

#include <cstdint>

#include "ops/quant/quant_blocks.h"

// IQ2_XXS and IQ3_XXS store 8 or 4 numbers at a time as the index of a grid's entry. Each single number is
// one of at most 16, so a nibble holds it: the grid's level in the low bits, and the sign in the highest.
namespace kvasir::ops {

inline constexpr std::int8_t kIq2Values[16] = {8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0};
inline constexpr std::int8_t kIq3Values[16] = {4,  12,  20,  28,  36,  44,  52,  62,
                                               -4, -12, -20, -28, -36, -44, -52, -62};
// A weight is d / divisor * scale * value.
inline constexpr int kIq2Divisor = 8;
inline constexpr int kIq3Divisor = 4;

// The nibbles of a group of 32 numbers, and their scale.
struct GridCodes {
  std::uint8_t nibbles[32];
  int scale;  // 1..31
};
GridCodes grid_codes(const BlockIQ2_XXS& b, int group);
GridCodes grid_codes(const BlockIQ3_XXS& b, int group);

}  // namespace kvasir::ops

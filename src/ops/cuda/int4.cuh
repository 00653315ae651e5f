#pragma once

#include "ops/cuda/launch.cuh"

namespace kvasir::ops::cuda {

// Widens a word of nibbles to four pairs of bf16: pair p has the nibbles p and p + 4.
__device__ inline void widen_int4(std::uint32_t word, std::uint32_t group, std::uint32_t (&pairs)[4]) {
  const __nv_bfloat162 both = *reinterpret_cast<const __nv_bfloat162*>(&group);
  const __nv_bfloat162 step = __low2bfloat162(both);
  const __nv_bfloat162 least = __high2bfloat162(both);
  const __nv_bfloat162 offset = __float2bfloat162_rn(128);
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    const std::uint32_t bits = (word >> (4 * p) & 0x000f000fu) | 0x43004300u;  // bf16 of 128 plus the nibble
    const __nv_bfloat162 whole = __hsub2(*reinterpret_cast<const __nv_bfloat162*>(&bits), offset);
    const __nv_bfloat162 value = __hfma2(whole, step, least);
    pairs[p] = *reinterpret_cast<const std::uint32_t*>(&value);
  }
}

}  // namespace kvasir::ops::cuda

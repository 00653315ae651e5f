#pragma once

#include <cstdint>

// Weights that are read once, by products of one row.
namespace kvasir::ops::cuda {

__device__ inline uint4 load_once(const uint4* from) {
  uint4 words;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from));
  return words;
}

// sum + a b, of eight numbers of bf16 each.
__device__ inline float dot8(const uint4& a, const uint4& b, float sum) {
  const uint32_t x[4] = {a.x, a.y, a.z, a.w};
  const uint32_t w[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = fmaf(__uint_as_float(x[i] << 16), __uint_as_float(w[i] << 16), sum);
    sum = fmaf(__uint_as_float(x[i] & 0xffff0000u), __uint_as_float(w[i] & 0xffff0000u), sum);
  }
  return sum;
}

}  // namespace kvasir::ops::cuda

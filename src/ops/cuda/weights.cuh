#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "ops/cuda/launch.cuh"

// Weights for products of one row, which read them only once.
namespace kvasir::ops::cuda {

__device__ inline uint4 load_once(const uint4* from) {
  uint4 words;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from));
  return words;
}

// Returns sum + a b, where a and b are eight numbers of bf16 each.
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

// Weights as bf16, eight in 16 bytes, and the input that they multiply.
struct Plain {
  static constexpr int kChunk = 8;
  struct X {
    uint4 parts[1];
  };

  __device__ static uint4 pack8(const float* x) {
    return make_uint4(pack2(x[0], x[1]), pack2(x[2], x[3]), pack2(x[4], x[5]), pack2(x[6], x[7]));
  }
  __device__ static float dot(const X& x, const uint4& w, float sum) { return dot8(x.parts[0], w, sum); }
};

// Sixteen weights as e4m3. x is at most 1, so sums of eight products fit into half precision.
struct Quantized {
  static constexpr int kChunk = 16;
  struct X {
    // From each four numbers, the second and fourth, then the first and third, as half precision.
    uint4 parts[2];
  };

  __device__ static uint4 pack8(const float* x) {
    return make_uint4(pack_halves(x[1], x[3]), pack_halves(x[0], x[2]), pack_halves(x[5], x[7]),
                      pack_halves(x[4], x[6]));
  }
  __device__ static float dot(const X& x, const uint4& w, float sum) {
    __half2 part = __float2half2_rn(0);
    add4(x.parts[0].x, x.parts[0].y, w.x, part);
    add4(x.parts[0].z, x.parts[0].w, w.y, part);
    add4(x.parts[1].x, x.parts[1].y, w.z, part);
    add4(x.parts[1].z, x.parts[1].w, w.w, part);
    const float2 both = __half22float2(part);
    return sum + (both.x + both.y);
  }

 private:
  __device__ static uint32_t pack_halves(float low, float high) {
    const __half2 pair = __floats2half2_rn(low * kWidened, high * kWidened);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }
  __device__ static void add4(uint32_t odd, uint32_t even, uint32_t w, __half2& sum) {
    const uint2 pairs = widen_e4m3(w);
    sum = __hfma2(*reinterpret_cast<const __half2*>(&odd), *reinterpret_cast<const __half2*>(&pairs.x), sum);
    sum = __hfma2(*reinterpret_cast<const __half2*>(&even), *reinterpret_cast<const __half2*>(&pairs.y), sum);
  }
};

}  // namespace kvasir::ops::cuda

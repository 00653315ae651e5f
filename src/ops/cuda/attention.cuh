#pragma once

#include <cuda_fp16.h>

#include "ops/cuda/attention.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/tiles.cuh"

// Code shared by the kernels that use the matrix units. Fragments have the layout of mma.m16n8k16: a lane has
// rows lane / 4 and lane / 4 + 8, and columns from 2 * (lane % 4) on.
namespace kvasir::ops::cuda {

inline constexpr float kLog2E = 1.4426950408889634f;

// Operands of products with KV blocks of bf16.
struct Bf16Fragments {
  using Kv = Bf16;
  static constexpr float kFactor = 1;  // multiplies the results of these products

  __device__ static uint32_t pack(float low, float high) { return pack2(low, high); }
  __device__ static uint32_t query(uint32_t pair) { return pair; }  // two numbers of bf16
  __device__ static void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    multiply_bf16(c, a, b0, b1);
  }
};

// Operands of products with KV blocks of e4m3, whose numbers half precision holds exactly.
struct E4m3Fragments {
  using Kv = E4m3;
  static constexpr float kFactor = kWidened;

  __device__ static uint32_t pack(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }
  __device__ static uint32_t query(uint32_t pair) {
    constexpr float kMost = 65504;
    const float low = __uint_as_float(pair << 16);
    const float high = __uint_as_float(pair & 0xffff0000u);
    return pack(fminf(fmaxf(low, -kMost), kMost), fminf(fmaxf(high, -kMost), kMost));
  }
  __device__ static void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

// Regroups two pairs by their low and high halves: {a0, a1} and {b0, b1} become {a0, b0} and {a1, b1}.
__device__ inline uint2 regrouped(uint32_t a, uint32_t b) {
  return make_uint2(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
}

// The score to base 2: its softmax weight is 2^score.
__device__ inline float scaled(const AttentionArgs& args, float dot) {
  if (args.softcap > 0) return args.softcap * tanhf(dot * args.scale / args.softcap) * kLog2E;
  return dot * (args.scale * kLog2E);
}

__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// The running softmax of the rows of one warp's fragment.
struct RunningSoftmax {
  float top[2] = {-kInf, -kInf};  // largest scores of the lane's row, and of the row eight below
  float total[2] = {0, 0};        // sums of weights, over this lane's columns only

  // Takes new scores and turns them into weights. Returns the factors by which to multiply the sums so far.
  template <int kTiles>
  __device__ float2 take(float (&scores)[kTiles][4]) {
    float keep[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float high = -kInf;
#pragma unroll
      for (int i = 0; i < kTiles; ++i)
        high = fmaxf(high, fmaxf(scores[i][2 * half], scores[i][2 * half + 1]));
      high = fmaxf(top[half], quad_max(high));
      const float base = high == -kInf ? 0 : high;  // no token seen yet
      keep[half] = exp2f(top[half] - base);
      top[half] = high;
      total[half] *= keep[half];
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
#pragma unroll
        for (int j = 2 * half; j < 2 * half + 2; ++j) {
          scores[i][j] = exp2f(scores[i][j] - base);
          total[half] += scores[i][j];
        }
      }
    }
    return make_float2(keep[0], keep[1]);
  }
};

}  // namespace kvasir::ops::cuda

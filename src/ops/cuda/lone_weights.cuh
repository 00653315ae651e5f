#pragma once

#include "ops/cuda/attention.cuh"
#include "ops/cuda/weights.cuh"

namespace kvasir::ops::cuda {

// A lane's weights times its part of x, summed by the matrix units. The weights of two rows are the rows of
// one matrix, and x is the columns of the other. Each of four neighbouring lanes has its own row and column,
// so only two diagonals of the result are used. The units are fast enough to waste the rest, and bf16 need
// not be unpacked.
struct PairOfSums {
  float c[4] = {};

  // The lane's part of both sums.
  __device__ float2 own() const {
    const int lane = threadIdx.x % 32;
    const int row = lane / 4;
    if (lane % 4 != row / 2) return make_float2(0, 0);
    return row % 2 == 0 ? make_float2(c[0], c[2]) : make_float2(c[1], c[3]);
  }
};

// Eight weights as bf16.
struct LonePlain {
  static constexpr int kChunk = 8;
  __device__ static uint4 pack8(const float* x) { return Plain::pack8(x); }
  __device__ static void multiply(PairOfSums& sums, const uint4& a, const uint4& b, const uint4* x, int) {
    const uint4 k = *x;
    Bf16Fragments::multiply(sums.c, {a.x, b.x, a.y, b.y}, k.x, k.y);
    Bf16Fragments::multiply(sums.c, {a.z, b.z, a.w, b.w}, k.z, k.w);
  }
};

// Sixteen weights as e4m3, which half precision holds exactly. x is at most 1.
struct LoneQuantized {
  static constexpr int kChunk = 16;
  __device__ static uint4 pack8(const float* x) {
    return make_uint4(E4m3Fragments::pack(x[0], x[1]), E4m3Fragments::pack(x[2], x[3]),
                      E4m3Fragments::pack(x[4], x[5]), E4m3Fragments::pack(x[6], x[7]));
  }
  __device__ static void multiply(PairOfSums& sums, const uint4& a, const uint4& b, const uint4* x,
                                  int chunks) {
    const uint4 low = x[0];
    const uint4 high = x[chunks];
    multiply4(sums, a.x, b.x, low.x, low.y);
    multiply4(sums, a.y, b.y, low.z, low.w);
    multiply4(sums, a.z, b.z, high.x, high.y);
    multiply4(sums, a.w, b.w, high.z, high.w);
  }

 private:
  __device__ static uint32_t halves(uint32_t two) {
    const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two), __NV_E4M3);
    return static_cast<uint32_t>(raw.y) << 16 | raw.x;
  }
  __device__ static void multiply4(PairOfSums& sums, uint32_t a, uint32_t b, uint32_t x0, uint32_t x1) {
    E4m3Fragments::multiply(
        sums.c, {halves(a & 0xffff), halves(b & 0xffff), halves(a >> 16), halves(b >> 16)}, x0, x1);
  }
};

}  // namespace kvasir::ops::cuda

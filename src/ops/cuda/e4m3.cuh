#pragma once

#include <cuda_fp16.h>

#include "ops/cuda/launch.cuh"

// Splits a number that has more digits than e4m3 into the sum of two e4m3 numbers.
namespace kvasir::ops::cuda {

inline constexpr float kTwoBytesMost = 256;   // numbers must first be scaled to at most this
inline constexpr float kLowStep = 1.0f / 16;  // factor of the second number, which is four bits lower

// Two numbers, each split in two: `high` has the first byte of both, and `low` the second byte of both.
struct TwoBytes {
  uint32_t high, low;  // 16 bits each
  __device__ TwoBytes(float a, float b) {
    high = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, __NV_E4M3);
    const __half2_raw raw = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(high), __NV_E4M3);
    const float2 taken = __half22float2(__half2(raw));
    low = __nv_cvt_float2_to_fp8x2(make_float2((a - taken.x) / kLowStep, (b - taken.y) / kLowStep),
                                   __NV_SATFINITE, __NV_E4M3);
  }
};

}  // namespace kvasir::ops::cuda

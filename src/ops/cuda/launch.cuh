#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/cuda/stream.h"
#include "tensor/dtype.h"

// Code shared by the files with kernels.
namespace kvasir::ops::cuda {

// Remembers a failure if the launch just before was refused; see failure.h.
void check_launch();

// The number of multiprocessors of the first GPU.
int num_multiprocessors();
// The compute capability of the first GPU. If it is 90, the GPU runs code for sm_90a.
int architecture();

// A kernel is launched while the one before it still runs. Until wait_for_previous() it may read only what
// was there before the step (weights, the step's own lists, and KV that the step does not write) and what the
// kernel two before it wrote, if the kernel between them calls release_next() after its own wait. The next
// kernel may start as soon as every thread block of this one has called release_next() and there is room.
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void release_next() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct LaunchShape {
  dim3 blocks;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;  // thread blocks in a cluster
};

// `kernel` must call wait_for_previous().
template <class... Parameters>
void launch_early(void (*kernel)(Parameters...), const LaunchShape& shape, StreamHandle stream,
                  std::type_identity_t<Parameters>... arguments) {
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {shape.cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = shape.cluster > 1 ? 2 : 1;
  cudaLaunchKernelEx(&config, kernel, arguments...);
  check_launch();
}

// As launch_early, for a kernel that needs more shared memory than the default limit. Every launch of a
// kernel must take the same amount.
template <auto kKernel, class... Arguments>
void launch_large(const LaunchShape& shape, StreamHandle stream, const Arguments&... arguments) {
  static const bool raised = cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                  static_cast<int>(shape.shared_bytes)) == cudaSuccess;
  if (raised)
    launch_early(kKernel, shape, stream, arguments...);
  else
    check_launch();
}

using Bf16 = __nv_bfloat16;
using E4m3 = __nv_fp8_e4m3;
inline constexpr float kInf = std::numeric_limits<float>::infinity();

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(Bf16 x) {
  return __bfloat162float(x);
}
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline E4m3 from_float<E4m3>(float x) {
  return E4m3(x);  // saturates
}

// Loads eight numbers from an address that is a multiple of 16 bytes.
__device__ inline void load8(const float* from, float (&x)[8]) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w, x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}
__device__ inline void load8(const Bf16* from, float (&x)[8]) {
  const uint4 a = *reinterpret_cast<const uint4*>(from);
  const uint32_t words[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = __uint_as_float(words[i] << 16);
    x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}
__device__ inline void store8(float* to, const float (&x)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(x[0], x[1], x[2], x[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(x[4], x[5], x[6], x[7]);
}
__device__ inline uint32_t pack2(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ inline void store8(Bf16* to, const float (&x)[8]) {
  *reinterpret_cast<uint4*>(to) =
      make_uint4(pack2(x[0], x[1]), pack2(x[2], x[3]), pack2(x[4], x[5]), pack2(x[6], x[7]));
}

// Widens four numbers of e4m3 to half precision: the second and fourth, then the first and third. Each is
// divided by kWidened, because the exponents of the two types differ in bias. The processor's instruction for
// this is slower.
inline constexpr float kWidened = 256;
__device__ inline uint2 widen_e4m3(uint32_t four) {
  constexpr uint32_t kSigns = 0x80008000u;
  constexpr uint32_t kRest = 0x3f803f80u;
  return make_uint2((four & kSigns) | ((four >> 1) & kRest), ((four << 8) & kSigns) | ((four << 7) & kRest));
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum over a block of up to 1024 threads, returned to every thread. `scratch` holds 33 floats and may be
// used again after the next barrier.
__device__ inline float block_sum(float x, float* scratch) {
  x = warp_sum(x);
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  __syncthreads();
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  const int num_warps = (blockDim.x + 31) / 32;
  return warp_sum(lane < num_warps ? scratch[lane] : 0.0f);
}

// As block_sum, for the maximum of numbers that are not negative.
__device__ inline float block_max(float x, float* scratch) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  const int lane = threadIdx.x % 32;
  __syncthreads();
  if (lane == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  x = lane < (blockDim.x + 31) / 32 ? scratch[lane] : 0.0f;
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

// Calls f with a value of the C++ type for `type`, which must be f32 or bf16.
template <class F>
void with_type(tensor::DType type, F&& f) {
  if (type == tensor::DType::f32)
    f(float{});
  else
    f(Bf16{});
}

inline unsigned ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<unsigned>((a + b - 1) / b);
}

}  // namespace kvasir::ops::cuda

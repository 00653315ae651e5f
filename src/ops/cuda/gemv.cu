#include "ops/cuda/activated.cuh"
#include "ops/cuda/gemv.h"
#include "ops/cuda/launch.cuh"

namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
constexpr int kOut = 2;     // rows of w that a warp reads together
constexpr int kUnroll = 4;  // chunks of each that it asks for before it uses the first

__device__ inline uint4 load_once(const uint4* from) {
  uint4 words;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(from));
  return words;
}

__device__ inline float dot8(const uint4& a, const uint4& b, float sum) {
  const uint32_t x[4] = {a.x, a.y, a.z, a.w};
  const uint32_t y[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum = fmaf(__uint_as_float(x[i] << 16), __uint_as_float(y[i] << 16), sum);
    sum = fmaf(__uint_as_float(x[i] & 0xffff0000u), __uint_as_float(y[i] & 0xffff0000u), sum);
  }
  return sum;
}

// The rows of x over their root mean square, to shared memory.
template <int kRows>
__device__ void normalize_rows(const GemvArgs& args, uint4* normed) {
  __shared__ float scratch[33];
  const int chunks = args.cols / 8;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Bf16* x = static_cast<const Bf16*>(args.x) + static_cast<std::int64_t>(r) * args.cols;
    float squares = 0;
    for (int c = threadIdx.x; c < chunks; c += kThreads) {
      float part[8];
      load8(x + 8 * c, part);
#pragma unroll
      for (const float value : part) squares += value * value;
    }
    const float factor = rsqrtf(block_sum(squares, scratch) / args.cols + args.eps);
    for (int c = threadIdx.x; c < chunks; c += kThreads) {
      float part[8];
      float weight[8];
      load8(x + 8 * c, part);
      load8(args.rms_weight + 8 * c, weight);
#pragma unroll
      for (int i = 0; i < 8; ++i) part[i] *= factor * weight[i];
      store8(reinterpret_cast<Bf16*>(normed + r * chunks + c), part);
    }
  }
  __syncthreads();
}

template <int kRows, Then kThen>
__device__ void finish(const GemvArgs& args, const int (&outs)[kOut], const float (&sums)[kRows][kOut]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if constexpr (kThen == Then::gate) {
      const float value = activated(args.activation, sums[r][0]) * sums[r][1];
      static_cast<Bf16*>(args.y)[static_cast<std::int64_t>(r) * (args.out / 2) + outs[0]] =
          from_float<Bf16>(value);
    } else {
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
        if (outs[o] >= args.out) continue;
        const std::int64_t at = static_cast<std::int64_t>(r) * args.out + outs[o];
        if constexpr (kThen == Then::store_f32) {
          static_cast<float*>(args.y)[at] = sums[r][o];
        } else if constexpr (kThen == Then::add) {
          Bf16& y = static_cast<Bf16*>(args.y)[at];
          y = from_float<Bf16>(to_float(y) + args.scale * sums[r][o]);
        } else {
          static_cast<Bf16*>(args.y)[at] = from_float<Bf16>(sums[r][o]);
        }
      }
    }
  }
}

template <int kRows, Then kThen, bool kNorm>
__global__ void __launch_bounds__(kThreads) gemv_kernel(GemvArgs args) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int chunks = args.cols / 8;
  const int lane = threadIdx.x % 32;
  const int first = (blockIdx.x * kWarps + threadIdx.x / 32);
  // Behind a gate a warp takes a row of each half.
  int outs[kOut];
#pragma unroll
  for (int o = 0; o < kOut; ++o)
    outs[o] = kThen == Then::gate ? first + o * (args.out / 2) : first * kOut + o;
  const uint4* weights[kOut];
#pragma unroll
  for (int o = 0; o < kOut; ++o)
    weights[o] =
        static_cast<const uint4*>(args.w) + static_cast<std::int64_t>(min(outs[o], args.out - 1)) * chunks;

  uint4 w[kUnroll][kOut];
  const auto fetch = [&](int c) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
#pragma unroll
      for (int o = 0; o < kOut; ++o)
        if (c + 32 * u < chunks) w[u][o] = load_once(weights[o] + c + 32 * u);
  };
  release_next();
  fetch(lane);
  wait_for_previous();
  const uint4* x = static_cast<const uint4*>(args.x);
  if constexpr (kNorm) {
    auto* normed = reinterpret_cast<uint4*>(memory);
    normalize_rows<kRows>(args, normed);
    x = normed;
  }
  if (outs[0] >= (kThen == Then::gate ? args.out / 2 : args.out)) return;

  float sums[kRows][kOut] = {};
  for (int c = lane; c < chunks; c += 32 * kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (c + 32 * u >= chunks) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const uint4 part = x[r * chunks + c + 32 * u];
#pragma unroll
        for (int o = 0; o < kOut; ++o) sums[r][o] = dot8(part, w[u][o], sums[r][o]);
      }
    }
    fetch(c + 32 * kUnroll);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int o = 0; o < kOut; ++o) sums[r][o] = warp_sum(sums[r][o]);
  if (lane == 0) finish<kRows, kThen>(args, outs, sums);
}

template <int kRows, Then kThen, bool kNorm>
void launch(StreamHandle stream, const GemvArgs& args) {
  const int num_outs = kThen == Then::gate ? args.out / 2 : args.out;
  const unsigned blocks = ceil_div(num_outs, kWarps * (kThen == Then::gate ? 1 : kOut));
  const int bytes = kNorm ? kRows * args.cols * 2 : 0;
  if (bytes > 48 << 10)
    cudaFuncSetAttribute(gemv_kernel<kRows, kThen, kNorm>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         bytes);
  launch_early(gemv_kernel<kRows, kThen, kNorm>, {dim3(blocks), kThreads, static_cast<std::size_t>(bytes)},
               stream, args);
}

// The combinations that a layer has.
template <int kRows>
void launch_rows(StreamHandle stream, const GemvArgs& args) {
  const bool norm = args.rms_weight != nullptr;
  if (args.then == Then::store && norm) return launch<kRows, Then::store, true>(stream, args);
  if (args.then == Then::store) return launch<kRows, Then::store, false>(stream, args);
  if (args.then == Then::gate && norm) return launch<kRows, Then::gate, true>(stream, args);
  if (args.then == Then::gate) return launch<kRows, Then::gate, false>(stream, args);
  if (args.then == Then::add) return launch<kRows, Then::add, false>(stream, args);
  launch<kRows, Then::store_f32, false>(stream, args);
}

}  // namespace

void gemv(StreamHandle stream, const GemvArgs& args) {
  if (args.rows == 1) launch_rows<1>(stream, args);
  if (args.rows == 2) launch_rows<2>(stream, args);
  if (args.rows == 4) launch_rows<4>(stream, args);
}

}  // namespace kvasir::ops::cuda

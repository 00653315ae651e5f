#include "ops/cuda/int4.cuh"
#include "ops/cuda/int4.h"

namespace kvasir::ops::cuda {
namespace {

constexpr int kThreads = 256;

// The first of the eight columns in word i of a row.
__device__ inline std::int64_t first_col(std::int64_t i) {
  const std::int64_t word = i % 16;
  return i / 16 * kInt4Block + word % 4 * kInt4Group + word / 4 * 8;
}

__global__ void unpack_kernel(UnpackInt4Args args) {
  release_next();
  wait_for_previous();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= args.count / 8) return;
  const std::int64_t col = first_col(i);
  uint32_t pairs[4];
  widen_int4(static_cast<const uint32_t*>(args.nibbles)[i],
             static_cast<const uint32_t*>(args.groups)[col / kInt4Group], pairs);
  *reinterpret_cast<uint4*>(static_cast<Bf16*>(args.y) + col) =
      make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Four lanes take each group, one word each.
__global__ void round_kernel(RoundInt4Args args) {
  release_next();
  wait_for_previous();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t col = i * 8;
  const bool there = col < args.count;
  float x[8] = {};
  if (there) load8(static_cast<const Bf16*>(args.x) + col, x);
  float least = x[0];
  float most = x[0];
#pragma unroll
  for (const float value : x) least = fminf(least, value), most = fmaxf(most, value);
#pragma unroll
  for (int step = 1; step < 4; step *= 2) {
    least = fminf(least, __shfl_xor_sync(0xffffffffu, least, step));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  }
  if (!there) return;
  const uint32_t group = pack2((most - least) / 15, least);
  const float step = __uint_as_float(group << 16);
  uint32_t word = 0;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float q = step > 0 ? fminf(fmaxf(rintf((x[j] - least) / step), 0.0f), 15.0f) : 0.0f;
    word |= static_cast<uint32_t>(q) << (4 * (j / 2 + j % 2 * 4));
  }
  const std::int64_t block = col / kInt4Block;
  const int in_block = static_cast<int>(col % kInt4Block);
  static_cast<uint32_t*>(args.nibbles)[block * 16 + in_block % kInt4Group / 8 * 4 + in_block / kInt4Group] =
      word;
  if (in_block % kInt4Group == 0) static_cast<uint32_t*>(args.groups)[col / kInt4Group] = group;
}

}  // namespace

void unpack_int4(StreamHandle stream, const UnpackInt4Args& args) {
  if (args.count > 0)
    launch_early(unpack_kernel, {dim3(ceil_div(args.count / 8, kThreads)), kThreads, 0}, stream, args);
}

void round_to_int4(StreamHandle stream, const RoundInt4Args& args) {
  if (args.count > 0)
    launch_early(round_kernel, {dim3(ceil_div(args.count / 8, kThreads)), kThreads, 0}, stream, args);
}

}  // namespace kvasir::ops::cuda

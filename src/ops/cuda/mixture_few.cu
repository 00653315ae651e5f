#include "ops/cuda/activated.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/mixture_few.h"
#include "ops/cuda/weights.cuh"

// One warp computes one output. Even one row has thousands of outputs, so a few loads by each warp keep
// memory busy.
namespace kvasir::ops::cuda {
namespace {

constexpr int kFewThreads = 256;
constexpr int kFewWarps = kFewThreads / 32;
constexpr int kMaxFewCols = 16384;  // most columns that fit into shared memory
constexpr int kLoads = 8;           // loads from a row of weights that a lane has under way

struct Chunks {
  uint4 words[kLoads];
};

// Loads the lane's chunks, from `first` on, of a row that has `count`.
__device__ Chunks load_chunks(const uint4* row, int first, int count) {
  Chunks chunks;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int c = first + i * 32;
    chunks.words[i] = c < count ? load_once(row + c) : make_uint4(0, 0, 0, 0);
  }
  return chunks;
}

__device__ float dot(const Chunks& w, const uint4* x, int first, int count, float sum) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i)
    if (first + i * 32 < count) sum = dot8(x[first + i * 32], w.words[i], sum);
  return sum;
}

// Normalises a row of x into shared memory.
__device__ void normalize(const FewExpertsArgs& args, int row, uint4* x, float* scratch) {
  const Bf16* from = static_cast<const Bf16*>(args.x) + static_cast<std::int64_t>(row) * args.hidden;
  float squares = 0;
  for (int i = threadIdx.x * 8; i < args.hidden; i += kFewThreads * 8) {
    float values[8];
    load8(from + i, values);
#pragma unroll
    for (const float value : values) squares += value * value;
  }
  const float factor = rsqrtf(block_sum(squares, scratch) / args.hidden + args.eps);
  for (int i = threadIdx.x * 8; i < args.hidden; i += kFewThreads * 8) {
    float values[8], weights[8];
    load8(from + i, values);
    load8(args.rms_weight + i, weights);
#pragma unroll
    for (int j = 0; j < 8; ++j) values[j] *= factor * weights[j];
    store8(reinterpret_cast<Bf16*>(x + i / 8), values);
  }
  __syncthreads();
}

// The grid is [blocks of a slot's outputs, slots].
__global__ void __launch_bounds__(kFewThreads) few_ups_kernel(FewExpertsArgs args) {
  extern __shared__ uint4 x[];
  __shared__ float scratch[33];
  wait_for_previous();
  // This must come after the wait: the next kernel reads what the kernel before this one has picked.
  release_next();
  const int slot = blockIdx.y;
  const int count = args.hidden / 8;
  const int lane = threadIdx.x % 32;
  const int unit = blockIdx.x * kFewWarps + threadIdx.x / 32;
  const bool there = unit < args.inner;
  const auto* w = static_cast<const uint4*>(args.ups[args.experts[slot]]);
  const uint4* gates = w + static_cast<std::int64_t>(there ? unit : 0) * count;
  const uint4* partners = gates + static_cast<std::int64_t>(args.inner) * count;
  Chunks gate = load_chunks(gates, lane, count);
  Chunks partner = load_chunks(partners, lane, count);
  normalize(args, slot / args.num_used, x, scratch);
  float sum = 0;
  float partner_sum = 0;
  for (int first = lane; first < count; first += kLoads * 32) {
    if (first > lane) {
      gate = load_chunks(gates, first, count);
      partner = load_chunks(partners, first, count);
    }
    sum = dot(gate, x, first, count, sum);
    partner_sum = dot(partner, x, first, count, partner_sum);
  }
  sum = warp_sum(sum);
  partner_sum = warp_sum(partner_sum);
  if (lane == 0 && there)
    static_cast<Bf16*>(args.between)[static_cast<std::int64_t>(slot) * args.inner + unit] =
        from_float<Bf16>(activated(args.activation, sum) * partner_sum);
}

// The grid is [blocks of a row's outputs, rows]. A row's slots are consecutive, as if they were the columns
// of one row.
__global__ void __launch_bounds__(kFewThreads) few_downs_kernel(FewExpertsArgs args) {
  extern __shared__ uint4 x[];
  const int row = blockIdx.y;
  const int lane = threadIdx.x % 32;
  const int out = blockIdx.x * kFewWarps + threadIdx.x / 32;
  const bool there = out < args.hidden;
  const int per_slot = args.inner / 8;
  const int count = args.num_used * per_slot;
  const std::int32_t* experts = args.experts + row * args.num_used;
  const auto chunk_at = [&](int c) {
    const auto* w = static_cast<const uint4*>(args.downs[experts[c / per_slot]]);
    return load_once(w + static_cast<std::int64_t>(there ? out : 0) * per_slot + c % per_slot);
  };
  constexpr int kAhead = 2 * kLoads;
  uint4 w[kAhead];
  const auto fetch = [&](int first) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      w[i] = first + i * 32 < count ? chunk_at(first + i * 32) : make_uint4(0, 0, 0, 0);
  };
  release_next();
  fetch(lane);
  wait_for_previous();
  const auto* between = static_cast<const uint4*>(args.between) + static_cast<std::int64_t>(row) * count;
  for (int c = threadIdx.x; c < count; c += kFewThreads) x[c] = between[c];
  __syncthreads();
  float sum = 0;
  for (int first = lane; first < count; first += kAhead * 32) {
    if (first > lane) fetch(first);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int c = first + i * 32;
      if (c < count) sum += args.weights[row * args.num_used + c / per_slot] * dot8(x[c], w[i], 0);
    }
  }
  sum = warp_sum(sum);
  if (lane != 0 || !there) return;
  Bf16& y = static_cast<Bf16*>(args.y)[static_cast<std::int64_t>(row) * args.hidden + out];
  y = from_float<Bf16>(to_float(y) + args.scale * sum);
}

}  // namespace

bool few_experts_take(int num_used, int hidden, int inner) {
  return hidden % 8 == 0 && inner % 8 == 0 && hidden <= kMaxFewCols && num_used * inner <= kMaxFewCols;
}

void run_few_experts(StreamHandle stream, const FewExpertsArgs& args) {
  const dim3 ups(ceil_div(args.inner, kFewWarps), args.rows * args.num_used);
  launch_early(few_ups_kernel, {ups, kFewThreads, static_cast<std::size_t>(args.hidden) * 2}, stream, args);
  const dim3 downs(ceil_div(args.hidden, kFewWarps), args.rows);
  const std::size_t bytes = static_cast<std::size_t>(args.num_used) * args.inner * 2;
  launch_early(few_downs_kernel, {downs, kFewThreads, bytes}, stream, args);
}

}  // namespace kvasir::ops::cuda

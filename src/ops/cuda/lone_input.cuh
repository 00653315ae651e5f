#pragma once

#include "ops/cuda/lone_shared.cuh"
#include "ops/cuda/lone_words.cuh"

// Brings the input of a product, which all thread blocks produce together, into the shared memory of each.
namespace kvasir::ops::cuda {

// One product of a step.
struct LoneTask {
  LoneProduct product = kLoneQkv;
  int cols = 0;
  const std::uint32_t* x = nullptr;  // [cols]: words with `tag`; null: the input is the embedding
  std::uint32_t tag = 0;
  const float* norm = nullptr;    // [cols], or null
  const float* scales = nullptr;  // one for each row of the weights, or null
  const Bf16* bias = nullptr;     // one for each row of the weights, or null
  std::uint32_t* to = nullptr;    // null: the result is the logits
  std::uint32_t to_tag = 0;
};

template <int kItems>
__device__ __forceinline__ void await_x(const LoneTask& task, int thread, int eights, uint4 (&x)[kItems]) {
  const auto item = [thread](int i) { return thread + i * kLoneThreads; };
  bool there = false;
  while (!there) {
    uint4 words[kItems][2] = {};
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (item(i) < eights)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          words[i][half] = peek(reinterpret_cast<const uint4*>(task.x) + 2 * item(i) + half);
    there = true;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (item(i) >= eights) continue;
      there = there && has_tag(words[i][0], task.tag) && has_tag(words[i][1], task.tag);
      const uint2 low = values_of(words[i][0]);
      const uint2 high = values_of(words[i][1]);
      x[i] = make_uint4(low.x, low.y, high.x, high.y);
    }
  }
}

// The sum and the maximum of numbers over the thread block; none may be negative. When reduce() returns, all
// warps have finished their multiplications.
__device__ inline void reduce(LoneShared& shared, float& sum, float& largest) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, step);
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  }
  if (lane == 0) {
    shared.scratch[warp] = sum;
    shared.scratch[kLoneWarps + warp] = largest;
  }
  __syncthreads();
  static_assert(kLoneWarps == 8 || kLoneWarps == 16);
  const int place = lane % (2 * kLoneWarps);
  float both = shared.scratch[place];
#pragma unroll
  for (int step = kLoneWarps / 2; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, both, step);
    both = place < kLoneWarps ? both + other : fmaxf(both, other);
  }
  sum = __shfl_sync(0xffffffffu, both, 0);
  largest = __shfl_sync(0xffffffffu, both, kLoneWarps);
}

// Packs x for all warps, and returns the factor for products with it. Calls `wait` before it reads anything
// that another thread block produces.
template <class Weights, class Wait>
__device__ __forceinline__ float load_lone_x(const LoneKernelArgs& args, LoneShared& shared,
                                             const LoneTask& task, const Wait& wait) {
  constexpr int kItems = kLoneMaxCols / 8 / kLoneThreads;
  constexpr int kNormed = kLoneMaxHidden / 8 / kLoneThreads;  // the first kNormed items may be normalised
  constexpr bool kIsQuantized = Weights::kChunk == 16;
  const bool is_normed = task.norm != nullptr;
  const int thread = static_cast<int>(threadIdx.x);
  const auto item = [thread](int i) { return thread + i * kLoneThreads; };
  const int eights = task.cols / 8;
  // The zeros matter, here and elsewhere: a variable that is loaded only on a condition would keep its
  // registers through all products.
  float norm[kNormed][8] = {};
  if (is_normed) {
#pragma unroll
    for (int i = 0; i < kNormed; ++i)
      if (item(i) < eights) load8(task.norm + 8 * item(i), norm[i]);
  }
  uint4 x[kItems] = {};  // eight numbers of bf16 each
  if (task.x == nullptr) {
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (item(i) < eights) x[i] = static_cast<const uint4*>(args.embedding)[item(i)];
  } else {
    wait();
    await_x(task, thread, eights, x);
  }
  const auto values_of = [&](int i, float(&values)[8]) {
    load8(reinterpret_cast<const Bf16*>(&x[i]), values);
    if (i >= kNormed || !is_normed) return;
#pragma unroll
    for (int j = 0; j < 8; ++j) values[j] *= norm[i % kNormed][j];
  };
  float squares = 0;
  float largest = 1e-20f;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (item(i) >= eights) continue;
    float values[8];
    load8(reinterpret_cast<const Bf16*>(&x[i]), values);
    if (i < kNormed) {
#pragma unroll
      for (const float value : values) squares += value * value;
    }
    if constexpr (kIsQuantized) {
      values_of(i, values);
#pragma unroll
      for (const float value : values) largest = fmaxf(largest, fabsf(value));
    }
  }
  reduce(shared, squares, largest);
  const float factor = is_normed ? rsqrtf(squares / task.cols + args.eps) : 1;
  const float step = kIsQuantized ? 1 / largest : factor;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int c = item(i);
    if (c >= eights) continue;
    float values[8];
    values_of(i, values);
#pragma unroll
    for (float& value : values) value *= step;
    shared.x[kIsQuantized ? c % 2 * (eights / 2) + c / 2 : c] = Weights::pack8(values);
  }
  __syncthreads();
  return kIsQuantized ? factor * largest : 1;
}

}  // namespace kvasir::ops::cuda

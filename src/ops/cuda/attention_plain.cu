#include "ops/cuda/attention.h"
#include "ops/cuda/launch.cuh"

namespace kvasir::ops::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kMaxPerLane = 20;  // numbers of a head; so it has at most 640

// One warp computes one row and head. Every lane holds some of the head's numbers.
template <class T>
__global__ void plain_kernel(AttentionArgs args) {
  release_next();
  wait_for_previous();
  const int task = blockIdx.x * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int row = task / args.num_heads;
  const int head = task % args.num_heads;
  if (row >= args.step.rows) return;
  const SliceView slice = args.step.slices[args.step.row_slices[row]];
  const int kv_head = head / (args.num_heads / args.num_kv_heads);
  const int position = slice.num_computed + row - slice.first_row;
  const int first = args.sliding_window > 0 ? max(0, position - args.sliding_window + 1) : 0;
  const T* q = static_cast<const T*>(args.q) + row * args.q_stride + head * args.head_dim;

  float query[kMaxPerLane];
  float sum[kMaxPerLane];
#pragma unroll
  for (int i = 0; i < kMaxPerLane; ++i) {
    const int d = i * 32 + lane;
    query[i] = d < args.head_dim ? to_float(q[d]) : 0;
    sum[i] = 0;
  }
  float top = -kInf;
  float total = 0;
  const int value_offset = args.v != nullptr ? 0 : args.head_dim - args.value_dim;
  for (int token = first; token <= position; ++token) {
    const std::int64_t block = args.step.blocks[slice.first_block + token / kBlockTokens];
    const int place = token % kBlockTokens;
    const T* key = static_cast<const T*>(args.k) +
                   ((block * args.num_kv_heads + kv_head) * kBlockTokens + place) * args.head_dim;
    float score = 0;
#pragma unroll
    for (int i = 0; i < kMaxPerLane; ++i) {
      const int d = i * 32 + lane;
      if (d < args.head_dim) score += query[i] * to_float(key[d]);
    }
    score = warp_sum(score) * args.scale;
    if (args.softcap > 0) score = args.softcap * tanhf(score / args.softcap);
    const float new_top = fmaxf(top, score);
    const float keep = expf(top - new_top);
    const float weight = expf(score - new_top);
    top = new_top;
    total = total * keep + weight;
    const T* value = key + value_offset;
    int stride = 1;
    if (args.v != nullptr) {
      stride = kBlockTokens;
      value = static_cast<const T*>(args.v) +
              (block * args.num_kv_heads + kv_head) * args.value_dim * kBlockTokens + place;
    }
#pragma unroll
    for (int i = 0; i < kMaxPerLane; ++i) {
      const int d = i * 32 + lane;
      if (d < args.value_dim) sum[i] = sum[i] * keep + weight * to_float(value[d * stride]);
    }
  }
  T* out =
      static_cast<T*>(args.out) + (static_cast<std::int64_t>(row) * args.num_heads + head) * args.value_dim;
#pragma unroll
  for (int i = 0; i < kMaxPerLane; ++i) {
    const int d = i * 32 + lane;
    if (d < args.value_dim) out[d] = from_float<T>(sum[i] / total);
  }
}

}  // namespace

void attend_rows_plainly(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.rows == 0) return;
  const unsigned blocks = ceil_div(static_cast<std::int64_t>(args.step.rows) * args.num_heads, kWarps);
  with_type(args.type, [&](auto value) {
    launch_early(plain_kernel<decltype(value)>, {dim3(blocks), kWarps * 32, 0}, stream, args);
  });
}

}  // namespace kvasir::ops::cuda

#include "ops/cuda/attention_split.cuh"

// Single rows where blocks hold e4m3 and heads have 64 numbers, which are widened to half precision.
namespace kvasir::ops::cuda {
namespace {

// Widened numbers come in another order: of each four the second and fourth, then the first and third.
__device__ uint4 in_order_of_keys(const uint4& q) {
  using Fragments = E4m3Fragments;
  const uint2 low = regrouped(Fragments::query(q.x), Fragments::query(q.y));
  const uint2 high = regrouped(Fragments::query(q.z), Fragments::query(q.w));
  return make_uint4(low.y, low.x, high.y, high.x);
}

__device__ uint4 eight_numbers(const unsigned char* from) {
  const uint2 words = *reinterpret_cast<const uint2*>(from);
  const uint2 low = widen_e4m3(words.x);
  const uint2 high = widen_e4m3(words.y);
  return make_uint4(low.x, low.y, high.x, high.y);
}

// The token of a block whose score stands in row lane / 4 of a product, and in the row eight below. Any order
// will do, so that a lane's four of a value's are neighbours.
__device__ int token_of(int lane, int half) {
  const int n = lane / 4;
  return 4 * (n / 2) + 2 * (n % 2) + 1 - half;
}

// A lane's four values of one number of a head, from token 4 * (lane % 4), with zeros behind the first
// `count` tokens: what stands there may be no number.
__device__ uint2 four_values(const unsigned char* values, int place, int count, int lane) {
  const int left = count - 4 * (lane % 4);
  const uint32_t kept = left >= 4 ? ~0u : left <= 0 ? 0 : (1u << (8 * left)) - 1;
  return widen_e4m3(reinterpret_cast<const uint32_t*>(values)[place] & kept);
}

struct E4m3Step {
  using Kv = E4m3;
  static constexpr int kDim = 64;
  static constexpr float kSumStep = E4m3Fragments::kFactor;
  static constexpr int kBlocksPerMultiprocessor = 5;

  uint4 q[kDim / 32];  // of head lane / 4
  ColumnSoftmax softmax;
  float sums[kDim / 16][4] =
      {};  // [i][2 * half + e]: number 16 * i + 8 * half + lane / 4 of head 2 * (lane % 4) + e

  __device__ void load_queries(const AttentionArgs& args, const Task& task, int lane) {
    const int head = lane / 4;
    const auto* from = reinterpret_cast<const uint4*>(query_of(args, task, head)) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i)
      q[i] = in_order_of_keys(head < task.num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0));
  }

  __device__ void take(const AttentionArgs& args, const Task& task, int first_token,
                       const Stage<E4m3Step>& stage, int lane) {
    float scores[4] = {};  // [2 * half + e]: of token_of(lane, half) and head 2 * (lane % 4) + e
    const unsigned char* upper = stage.keys + token_of(lane, 0) * kDim + lane % 4 * 8;
    const unsigned char* lower = stage.keys + token_of(lane, 1) * kDim + lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const uint4 a = eight_numbers(upper + 32 * i);
      const uint4 b = eight_numbers(lower + 32 * i);
      E4m3Fragments::multiply(scores, {a.x, b.x, a.y, b.y}, q[i].x, q[i].y);
      E4m3Fragments::multiply(scores, {a.z, b.z, a.w, b.w}, q[i].z, q[i].w);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + token_of(lane, j / 2);
      const bool seen = at < task.end && at >= task.first;
      scores[j] = seen ? scaled(args, scores[j] * E4m3Fragments::kFactor) : -kInf;
    }
    const float2 keep = softmax.take(scores);
    add_values(scores, stage.values, task.end - first_token, lane, keep);
  }

 private:
  __device__ void add_values(const float (&weights)[4], const unsigned char* values, int count, int lane,
                             float2 keep) {
    const uint32_t upper = turned(E4m3Fragments::pack(weights[0], weights[1]));
    const uint32_t lower = turned(E4m3Fragments::pack(weights[2], weights[3]));
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const uint2 a = four_values(values, 64 * i + lane, count, lane);
      const uint2 b = four_values(values, 64 * i + 32 + lane, count, lane);
      sums[i][0] *= keep.x, sums[i][1] *= keep.y, sums[i][2] *= keep.x, sums[i][3] *= keep.y;
      E4m3Fragments::multiply(sums[i], {a.x, b.x, a.y, b.y}, upper, lower);
    }
  }
};

}  // namespace

void attend_rows_split_e4m3(StreamHandle stream, const AttentionArgs& args) {
  if (args.head_dim == 64)
    launch_split<E4m3Step>(stream, args);
  else
    attend_rows_split_wide(stream, args);
}

}  // namespace kvasir::ops::cuda

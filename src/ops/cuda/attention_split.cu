#include "ops/cuda/attention_split.cuh"

// Single rows where blocks hold bf16.
namespace kvasir::ops::cuda {
namespace {

// The token of a block whose score stands in row lane / 4 of a product, and in the row eight below. Any order
// will do, so that a lane's four of a value's are neighbours.
__device__ int token_of(int lane, int half) {
  const int n = lane / 4;
  return 4 * (n / 2) + n % 2 + 2 * half;
}

// A lane's four values of one number of a head, from token 4 * (lane % 4), with zeros behind the first
// `count` tokens: what stands behind the sequence's end may be anything, and nothing times infinity is not
// nothing.
__device__ uint2 four_values(const unsigned char* values, int place, int count, int lane) {
  const int left = count - 4 * (lane % 4);
  const uint2 words = reinterpret_cast<const uint2*>(values)[place];
  const uint32_t low = (left > 0 ? 0xffffu : 0) | (left > 1 ? 0xffff0000u : 0);
  const uint32_t high = (left > 2 ? 0xffffu : 0) | (left > 3 ? 0xffff0000u : 0);
  return make_uint2(words.x & low, words.y & high);
}

template <int dim>
struct Bf16Step {
  using Kv = Bf16;
  static constexpr int kDim = dim;
  static constexpr float kSumStep = 1;
  static constexpr int kBlocksPerMultiprocessor = 3;  // for which shared memory has room

  // A dot product may add its numbers in any order, so a lane takes eight neighbours with one load, of
  // queries and of keys alike.
  uint4 q[kDim / 32];  // of head lane / 4
  ColumnSoftmax softmax;
  float sums[kDim / 16][4] =
      {};  // [i][2 * half + e]: number 16 * i + 8 * half + lane / 4 of head 2 * (lane % 4) + e

  __device__ void load_queries(const AttentionArgs& args, const Task& task, int lane) {
    const int head = lane / 4;
    const auto* from = reinterpret_cast<const uint4*>(query_of(args, task, head)) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) q[i] = head < task.num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0);
  }

  __device__ void take(const AttentionArgs& args, const Task& task, int first_token,
                       const Stage<Bf16Step>& stage, int lane) {
    float scores[4] = {};  // [2 * half + e]: of token_of(lane, half) and head 2 * (lane % 4) + e
    score(stage.keys, lane, scores);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + token_of(lane, j / 2);
      scores[j] = at < task.end && at >= task.first ? scaled(args, scores[j]) : -kInf;
    }
    const float2 keep = softmax.take(scores);
    add_values(scores, stage.values, task.end - first_token, lane, keep);
  }

 private:
  __device__ void score(const unsigned char* keys, int lane, float (&scores)[4]) const {
    const auto row = [&](int half) {
      return reinterpret_cast<const uint4*>(keys + token_of(lane, half) * kDim * 2) + lane % 4;
    };
    const uint4* upper = row(0);
    const uint4* lower = row(1);
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const uint4 a = upper[4 * i];
      const uint4 b = lower[4 * i];
      multiply_bf16(scores, {a.x, b.x, a.y, b.y}, q[i].x, q[i].y);
      multiply_bf16(scores, {a.z, b.z, a.w, b.w}, q[i].z, q[i].w);
    }
  }

  __device__ void add_values(const float (&weights)[4], const unsigned char* values, int count, int lane,
                             float2 keep) {
    const uint32_t upper = turned(pack2(weights[0], weights[1]));
    const uint32_t lower = turned(pack2(weights[2], weights[3]));
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const uint2 a = four_values(values, 64 * i + lane, count, lane);
      const uint2 b = four_values(values, 64 * i + 32 + lane, count, lane);
      sums[i][0] *= keep.x, sums[i][1] *= keep.y, sums[i][2] *= keep.x, sums[i][3] *= keep.y;
      multiply_bf16(sums[i], {a.x, b.x, a.y, b.y}, upper, lower);
    }
  }
};

}  // namespace

void attend_rows_split(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_split_items == 0) return;
  if (args.kv == KvNumbers::e4m3) return attend_rows_split_e4m3(stream, args);
  if (args.head_dim == 64) launch_split<Bf16Step<64>>(stream, args);
  if (args.head_dim == 128) launch_split<Bf16Step<128>>(stream, args);
}

}  // namespace kvasir::ops::cuda

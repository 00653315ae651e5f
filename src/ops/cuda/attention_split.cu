#include "ops/cuda/attention_split.cuh"

// Single rows by warps' products. Heads of 128 with numbers of e4m3 go through warpgroups instead.
namespace kvasir::ops::cuda {
namespace {

template <class Fragments>
inline constexpr bool kIsWidened = sizeof(typename Fragments::Kv) == 1;

// Widened keys come in another order: of each four the second and fourth, then the first and third.
template <class Fragments>
__device__ uint4 in_order_of_keys(const uint4& q) {
  if constexpr (!kIsWidened<Fragments>) return q;
  const uint2 low = regrouped(Fragments::query(q.x), Fragments::query(q.y));
  const uint2 high = regrouped(Fragments::query(q.z), Fragments::query(q.w));
  return make_uint4(low.y, low.x, high.y, high.x);
}

// The numbers from `from`, counted in them, as fragments want them.
template <class Fragments>
__device__ uint4 eight_numbers(const unsigned char* base, int from) {
  if constexpr (!kIsWidened<Fragments>) return *reinterpret_cast<const uint4*>(base + 2 * from);
  const uint2 words = *reinterpret_cast<const uint2*>(base + from);
  const uint2 low = widen_e4m3(words.x);
  const uint2 high = widen_e4m3(words.y);
  return make_uint4(low.x, low.y, high.x, high.y);
}

// The token of a block whose score stands in row lane / 4 of a product, and in the row eight below. Any order
// will do, so that a lane's four of a value's are neighbours.
template <class Fragments>
__device__ int token_of(int lane, int half) {
  const int n = lane / 4;
  if constexpr (!kIsWidened<Fragments>) return 4 * (n / 2) + n % 2 + 2 * half;
  return 4 * (n / 2) + 2 * (n % 2) + 1 - half;
}

// A lane's four values of one number of a head, from token 4 * (lane % 4), with zeros behind the first
// `count` tokens: what stands behind the sequence's end may be anything, and nothing times infinity is not
// nothing. Widened ones are the second and fourth, then the first and third.
template <class Fragments>
__device__ uint2 four_values(const unsigned char* values, int place, int count, int lane) {
  const int left = count - 4 * (lane % 4);
  if constexpr (!kIsWidened<Fragments>) {
    const uint2 words = reinterpret_cast<const uint2*>(values)[place];
    const uint32_t low = (left > 0 ? 0xffffu : 0) | (left > 1 ? 0xffff0000u : 0);
    const uint32_t high = (left > 2 ? 0xffffu : 0) | (left > 3 ? 0xffff0000u : 0);
    return make_uint2(words.x & low, words.y & high);
  } else {
    const uint32_t kept = left >= 4 ? ~0u : left <= 0 ? 0 : (1u << (8 * left)) - 1;
    return widen_e4m3(reinterpret_cast<const uint32_t*>(values)[place] & kept);
  }
}

template <int dim, class Fragments>
struct WarpStep {
  using Kv = typename Fragments::Kv;
  static constexpr int kDim = dim;
  static constexpr float kSumStep = Fragments::kFactor;
  // Shared memory has room for three of bf16.
  static constexpr int kBlocksPerMultiprocessor = kIsWidened<Fragments> ? 5 : 3;

  // A dot product may add its numbers in any order, so a lane takes eight neighbours with one load, of
  // queries and of keys alike.
  uint4 q[kDim / 32];  // of head lane / 4
  ColumnSoftmax softmax;
  // [i][2 * half + e]: number 16 * i + 8 * half + lane / 4 of head 2 * (lane % 4) + e
  float sums[kDim / 16][4] = {};

  __device__ void load_queries(const AttentionArgs& args, const Task& task, int lane) {
    const int head = lane / 4;
    const auto* from = reinterpret_cast<const uint4*>(query_of(args, task, head)) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i)
      q[i] = in_order_of_keys<Fragments>(head < task.num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0));
  }

  __device__ void take(const AttentionArgs& args, const Task& task, int first_token,
                       const Stage<WarpStep>& stage, int lane) {
    float scores[4] = {};  // [2 * half + e]: of token_of(lane, half) and head 2 * (lane % 4) + e
    score(stage.keys, lane, scores);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + token_of<Fragments>(lane, j / 2);
      const bool seen = at < task.end && at >= task.first;
      scores[j] = seen ? scaled(args, scores[j] * Fragments::kFactor) : -kInf;
    }
    const float2 keep = softmax.take(scores);
    add_values(scores, stage.values, task.end - first_token, lane, keep);
  }

 private:
  __device__ void score(const unsigned char* keys, int lane, float (&scores)[4]) const {
    const unsigned char* upper = keys + (token_of<Fragments>(lane, 0) * kDim + lane % 4 * 8) * sizeof(Kv);
    const unsigned char* lower = keys + (token_of<Fragments>(lane, 1) * kDim + lane % 4 * 8) * sizeof(Kv);
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const uint4 a = eight_numbers<Fragments>(upper, 32 * i);
      const uint4 b = eight_numbers<Fragments>(lower, 32 * i);
      Fragments::multiply(scores, {a.x, b.x, a.y, b.y}, q[i].x, q[i].y);
      Fragments::multiply(scores, {a.z, b.z, a.w, b.w}, q[i].z, q[i].w);
    }
  }

  __device__ void add_values(const float (&weights)[4], const unsigned char* values, int count, int lane,
                             float2 keep) {
    const uint32_t upper = turned(Fragments::pack(weights[0], weights[1]));
    const uint32_t lower = turned(Fragments::pack(weights[2], weights[3]));
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const uint2 a = four_values<Fragments>(values, 64 * i + lane, count, lane);
      const uint2 b = four_values<Fragments>(values, 64 * i + 32 + lane, count, lane);
      sums[i][0] *= keep.x, sums[i][1] *= keep.y, sums[i][2] *= keep.x, sums[i][3] *= keep.y;
      Fragments::multiply(sums[i], {a.x, b.x, a.y, b.y}, upper, lower);
    }
  }
};

}  // namespace

void attend_rows_split(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_split_items == 0) return;
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch_split<WarpStep<64, Bf16Fragments>>(stream, args);
  if (args.head_dim == 64 && quantized) launch_split<WarpStep<64, E4m3Fragments>>(stream, args);
  if (args.head_dim == 128 && !quantized) launch_split<WarpStep<128, Bf16Fragments>>(stream, args);
  if (args.head_dim == 128 && quantized) attend_rows_split_wide(stream, args);
}

}  // namespace kvasir::ops::cuda

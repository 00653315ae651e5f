#pragma once

#include <type_traits>

#include "ops/cuda/attention.cuh"

// A warp's work on a block of tokens when a single row attends to it. The columns of a product are up to
// eight heads of a group; its rows are tokens, or numbers of a head. A block's keys are [16 tokens, dim], its
// values [dim, 16 tokens].
namespace kvasir::ops::cuda {

struct TokenRange {
  int first = 0;
  int end = 0;
};

// The maximum over the lanes that have the same heads.
__device__ inline float column_max(float x) {
#pragma unroll
  for (int step = 4; step < 32; step *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

__device__ inline float column_sum(float x) {
#pragma unroll
  for (int step = 4; step < 32; step *= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The running softmax of the lane's two heads.
struct ColumnSoftmax {
  float top[2] = {-kInf, -kInf};
  float total[2] = {0, 0};  // over this lane's tokens only

  // Takes new scores and turns them into weights. Returns the factors by which to multiply the sums so far.
  __device__ float2 take(float (&scores)[4]) {
    const float first = take(0, column_max(fmaxf(scores[0], scores[2])), scores);
    return make_float2(first, take(1, column_max(fmaxf(scores[1], scores[3])), scores));
  }

  // As above, for head `e` of the two, whose largest new score is `largest`.
  __device__ float take(int e, float largest, float (&scores)[4]) {
    const float high = fmaxf(top[e], largest);
    const float base = high == -kInf ? 0 : high;  // no token seen yet
    const float keep = exp2f(top[e] - base);
    top[e] = high;
    scores[e] = exp2f(scores[e] - base);
    scores[2 + e] = exp2f(scores[2 + e] - base);
    total[e] = total[e] * keep + scores[e] + scores[2 + e];
    return keep;
  }
};

// Transposes a matrix of eight by eight two-byte numbers.
__device__ inline uint32_t turned(uint32_t pair) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

// Two neighbouring numbers of a head, summed over tokens with their weights.
struct PairSum {
  float top = -kInf;
  float total = 0;
  float2 sum = make_float2(0, 0);

  __device__ void add(float base, float other_top, float other_total, float2 other) {
    const float weight = exp2f(other_top - base);
    total += weight * other_total;
    sum.x += weight * other.x;
    sum.y += weight * other.y;
  }
};

template <class Fragments>
inline constexpr bool kIsWidened = sizeof(typename Fragments::Kv) == 1;

// Puts queries into the order of widened keys: from each four numbers, the second and fourth, then the first
// and third.
template <class Fragments>
__device__ uint4 in_order_of_keys(const uint4& q) {
  if constexpr (!kIsWidened<Fragments>) return q;
  const uint2 low = regrouped(Fragments::query(q.x), Fragments::query(q.y));
  const uint2 high = regrouped(Fragments::query(q.z), Fragments::query(q.w));
  return make_uint4(low.y, low.x, high.y, high.x);
}

// Eight numbers of a key, and four of a value, as they are in a block.
template <class Fragments>
using KeyWords = std::conditional_t<kIsWidened<Fragments>, uint2, uint4>;
template <class Fragments>
using ValueWords = std::conditional_t<kIsWidened<Fragments>, uint32_t, uint2>;

template <class Fragments>
__device__ uint4 as_fragment(const KeyWords<Fragments>& words) {
  if constexpr (kIsWidened<Fragments>) {
    const uint2 low = widen_e4m3(words.x);
    const uint2 high = widen_e4m3(words.y);
    return make_uint4(low.x, low.y, high.x, high.y);
  } else {
    return words;
  }
}

// The token whose score is in row lane / 4 of a product (`half` = 0) or in the row eight below. The order of
// tokens does not matter; in this one, the four values that a lane reads are neighbours.
template <class Fragments>
__device__ int token_of(int lane, int half) {
  const int n = lane / 4;
  if constexpr (!kIsWidened<Fragments>) return 4 * (n / 2) + n % 2 + 2 * half;
  return 4 * (n / 2) + 2 * (n % 2) + 1 - half;
}

// A lane's four values of one number of a head, from token 4 * (lane % 4) on, with zeros after the first
// `count` tokens: the memory after the sequence's end may hold anything, and zero times infinity is not zero.
// Widened values are in the order second, fourth, first, third.
template <class Fragments>
__device__ uint2 four_values(const ValueWords<Fragments>& words, int count, int lane) {
  const int left = count - 4 * (lane % 4);
  if constexpr (!kIsWidened<Fragments>) {
    const uint32_t low = (left > 0 ? 0xffffu : 0) | (left > 1 ? 0xffff0000u : 0);
    const uint32_t high = (left > 2 ? 0xffffu : 0) | (left > 3 ? 0xffff0000u : 0);
    return make_uint2(words.x & low, words.y & high);
  } else {
    const uint32_t kept = left >= 4 ? ~0u : left <= 0 ? 0 : (1u << (8 * left)) - 1;
    return widen_e4m3(words & kept);
  }
}

// A lane's part of a KV block, read from global or shared memory when it is needed.
template <int kDim, class Fragments>
struct KvInPlace {
  const unsigned char* keys;
  const unsigned char* values;
  const int lane = threadIdx.x % 32;

  __device__ KeyWords<Fragments> key(int half, int i) const {
    const int at = token_of<Fragments>(lane, half) * kDim + lane % 4 * 8 + 32 * i;
    return *reinterpret_cast<const KeyWords<Fragments>*>(keys + at * sizeof(typename Fragments::Kv));
  }
  __device__ ValueWords<Fragments> value(int i) const {
    return reinterpret_cast<const ValueWords<Fragments>*>(values)[32 * i + lane];
  }
};

// A lane's part of a KV block, read ahead into registers.
template <int kDim, class Fragments>
struct KvInRegisters {
  KeyWords<Fragments> keys[2][kDim / 32];
  ValueWords<Fragments> values[kDim / 8];

  __device__ void load_keys(const KvInPlace<kDim, Fragments>& from) {
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) keys[half][i] = from.key(half, i);
  }
  __device__ void load_values(const KvInPlace<kDim, Fragments>& from) {
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) values[i] = from.value(i);
  }
  __device__ KeyWords<Fragments> key(int half, int i) const { return keys[half][i]; }
  __device__ ValueWords<Fragments> value(int i) const { return values[i]; }
};

template <int dim, class Fragments>
struct WarpStep {
  using Kv = typename Fragments::Kv;
  using InPlace = KvInPlace<dim, Fragments>;
  using InRegisters = KvInRegisters<dim, Fragments>;
  static constexpr int kDim = dim;
  static constexpr float kSumStep = Fragments::kFactor;
  // Shared memory has room for three thread blocks with bf16.
  static constexpr int kBlocksPerMultiprocessor = kIsWidened<Fragments> ? 5 : 3;

  // A dot product may add its numbers in any order, so a lane takes eight neighbours with one load, both of
  // queries and of keys.
  uint4 q[kDim / 32];  // queries of head lane / 4
  ColumnSoftmax softmax;
  // sums[i][2 * half + e] is number 16 * i + 8 * half + lane / 4 of head 2 * (lane % 4) + e.
  float sums[kDim / 16][4] = {};

  // Loads the queries of `num_heads` consecutive heads.
  __device__ void load_queries(const Bf16* queries, int num_heads, int lane) {
    const int head = lane / 4;
    const auto* from = reinterpret_cast<const uint4*>(queries + head * kDim) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i)
      q[i] = in_order_of_keys<Fragments>(head < num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0));
  }

  // Adds a block whose first token is `first_token`. Only tokens in `seen` count.
  template <class Block>
  __device__ void take(const AttentionArgs& args, TokenRange seen, int first_token, const Block& block,
                       int lane) {
    float scores[4] = {};  // [2 * half + e]: token_of(lane, half), head 2 * (lane % 4) + e
    score(block, scores);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + token_of<Fragments>(lane, j / 2);
      const bool counts = at < seen.end && at >= seen.first;
      scores[j] = counts ? scaled(args, scores[j] * Fragments::kFactor) : -kInf;
    }
    const float2 keep = softmax.take(scores);
    add_values(scores, block, seen.end - first_token, lane, keep);
  }

 private:
  template <class Block>
  __device__ void score(const Block& block, float (&scores)[4]) const {
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const uint4 a = as_fragment<Fragments>(block.key(0, i));
      const uint4 b = as_fragment<Fragments>(block.key(1, i));
      Fragments::multiply(scores, {a.x, b.x, a.y, b.y}, q[i].x, q[i].y);
      Fragments::multiply(scores, {a.z, b.z, a.w, b.w}, q[i].z, q[i].w);
    }
  }

  template <class Block>
  __device__ void add_values(const float (&weights)[4], const Block& block, int count, int lane,
                             float2 keep) {
    const uint32_t upper = turned(Fragments::pack(weights[0], weights[1]));
    const uint32_t lower = turned(Fragments::pack(weights[2], weights[3]));
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const uint2 a = four_values<Fragments>(block.value(2 * i), count, lane);
      const uint2 b = four_values<Fragments>(block.value(2 * i + 1), count, lane);
      sums[i][0] *= keep.x, sums[i][1] *= keep.y, sums[i][2] *= keep.x, sums[i][3] *= keep.y;
      Fragments::multiply(sums[i], {a.x, b.x, a.y, b.y}, upper, lower);
    }
  }
};

}  // namespace kvasir::ops::cuda

#include "ops/cuda/attention.cuh"
#include "ops/cuda/bulk.cuh"

// Single rows. Heads stand in the columns of a product and tokens, or numbers of a head, in its rows: a group
// of up to eight heads fills the columns.
namespace kvasir::ops::cuda {
namespace {

// Blocks of a grid: KV heads of an item, then items; and parts of a group of heads.
__device__ inline int kv_head_of_block(const AttentionArgs& args) {
  return static_cast<int>(blockIdx.x) % args.num_kv_heads;
}
__device__ inline int item_of_block(const AttentionArgs& args) {
  return static_cast<int>(blockIdx.x) / args.num_kv_heads;
}

constexpr int kWarps = 4;
constexpr int kHeads = 8;  // of one KV head that a thread block takes: a fragment's columns
constexpr int kSplitBlocks = kSplitTokens / kBlockTokens;
constexpr int kStages = 2;  // blocks of KV that a warp has in shared memory or on their way
// Shared memory has room for three of bf16; of e4m3 for more, and so little to wait for that it takes them.
template <class Kv>
inline constexpr int kBlocksPerMultiprocessor = sizeof(Kv) == 2 ? 3 : 5;

// Each warp has its own stages. A block's keys lie as [16 tokens, dim], its values as [dim, 16 tokens].
template <int kDim, class Kv>
struct alignas(128) Stages {
  unsigned char keys[kWarps][kStages][kBlockTokens * kDim * sizeof(Kv)];
  unsigned char values[kWarps][kStages][kBlockTokens * kDim * sizeof(Kv)];
};

// What each warp made of its tokens. Takes the stages' place.
template <int kDim>
struct Sums {
  float numbers[kWarps][kHeads][kDim];
};

template <int kDim, class Kv>
struct Shared {
  union {
    Stages<kDim, Kv> stages;
    Sums<kDim> sums;
  };
  float top[kWarps][kHeads];
  float total[kWarps][kHeads];
  Barrier ready[kWarps][kStages];
  int is_last;
};

// One thread block's work, as its threads see it.
struct Task {
  SliceView slice;
  int part;
  int first_head;
  int num_heads;
  int position;
  int first;        // token that is seen
  int first_block;  // of the sequence
  int last_block;   // past the end

  __device__ Task(const AttentionArgs& args, const AttentionItem& item)
      : slice(item.slice), part(item.part), position(item.slice.num_computed) {
    const int group = args.num_heads / args.num_kv_heads;
    first_head = kv_head_of_block(args) * group + blockIdx.z * kHeads;
    num_heads = min(kHeads, group - static_cast<int>(blockIdx.z) * kHeads);
    first = args.sliding_window > 0 ? max(0, position - args.sliding_window + 1) : 0;
    first_block = max(part * kSplitBlocks, first / kBlockTokens);
    last_block = min((part + 1) * kSplitBlocks, position / kBlockTokens + 1);
  }
};

// Widened keys come in another order: of each four the second and fourth, then the first and third.
template <class Fragments>
__device__ uint4 in_order_of_keys(const uint4& q) {
  if constexpr (sizeof(typename Fragments::Kv) == 2) {
    return q;
  } else {
    const uint2 low = regrouped(Fragments::query(q.x), Fragments::query(q.y));
    const uint2 high = regrouped(Fragments::query(q.z), Fragments::query(q.w));
    return make_uint4(low.y, low.x, high.y, high.x);
  }
}

// Queries of eight heads in registers. A dot product may add its numbers in any order, so a lane takes eight
// neighbours with one load, of queries and of keys alike.
template <int kDim, class Fragments>
struct Queries {
  uint4 words[kDim / 32];  // of head lane / 4

  __device__ void load(const AttentionArgs& args, const Task& task, int lane) {
    const int head = lane / 4;
    const Bf16* row = static_cast<const Bf16*>(args.q) + task.slice.first_row * args.q_stride +
                      static_cast<std::int64_t>(task.first_head + head) * kDim;
    const uint4* from = reinterpret_cast<const uint4*>(row) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i)
      words[i] = in_order_of_keys<Fragments>(head < task.num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0));
  }
};

// The numbers from `from`, counted in them, as fragments want them.
template <class Fragments>
__device__ uint4 eight_numbers(const unsigned char* base, int from) {
  if constexpr (sizeof(typename Fragments::Kv) == 2) {
    return *reinterpret_cast<const uint4*>(base + 2 * from);
  } else {
    const uint2 words = *reinterpret_cast<const uint2*>(base + from);
    const uint2 low = widen_e4m3(words.x);
    const uint2 high = widen_e4m3(words.y);
    return make_uint4(low.x, low.y, high.x, high.y);
  }
}

// The token of a block whose score stands in row lane / 4 of a product, and in the row eight below. Any order
// will do, so that a lane's four of a value's are neighbours.
template <class Fragments>
__device__ int token_of(int lane, int half) {
  const int n = lane / 4;
  if constexpr (sizeof(typename Fragments::Kv) == 2) return 4 * (n / 2) + n % 2 + 2 * half;
  return 4 * (n / 2) + 2 * (n % 2) + 1 - half;
}

// scores[2 * half + e]: of token_of(lane, half) and head 2 * (lane % 4) + e.
template <int kDim, class Fragments>
__device__ void score(const Queries<kDim, Fragments>& q, const unsigned char* keys, int lane,
                      float (&scores)[4]) {
  constexpr int kBytes = sizeof(typename Fragments::Kv);
  const unsigned char* upper = keys + (token_of<Fragments>(lane, 0) * kDim + lane % 4 * 8) * kBytes;
  const unsigned char* lower = keys + (token_of<Fragments>(lane, 1) * kDim + lane % 4 * 8) * kBytes;
#pragma unroll
  for (int i = 0; i < kDim / 32; ++i) {
    const uint4 a = eight_numbers<Fragments>(upper, 32 * i);
    const uint4 b = eight_numbers<Fragments>(lower, 32 * i);
    Fragments::multiply(scores, {a.x, b.x, a.y, b.y}, q.words[i].x, q.words[i].y);
    Fragments::multiply(scores, {a.z, b.z, a.w, b.w}, q.words[i].z, q.words[i].w);
  }
}

// Over the lanes that have the same heads.
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

// The softmax of the lane's two heads, as far as it has come.
struct ColumnSoftmax {
  float top[2] = {-kInf, -kInf};
  float total[2] = {0, 0};  // of this lane's tokens alone

  // Takes scores in; they become weights. Gives what the sums so far are to be multiplied with.
  __device__ float2 take(float (&scores)[4]) {
    float keep[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float high = fmaxf(top[e], column_max(fmaxf(scores[e], scores[2 + e])));
      const float base = high == -kInf ? 0 : high;  // nothing was seen yet
      keep[e] = exp2f(top[e] - base);
      top[e] = high;
      scores[e] = exp2f(scores[e] - base);
      scores[2 + e] = exp2f(scores[2 + e] - base);
      total[e] = total[e] * keep[e] + scores[e] + scores[2 + e];
    }
    return make_float2(keep[0], keep[1]);
  }
};

// A lane's four values of one number of a head, from token 4 * (lane % 4), with zeros behind the first
// `count` tokens: what stands behind the sequence's end may be anything, and nothing times infinity is not
// nothing. Widened ones are the second and fourth, then the first and third.
template <class Fragments>
__device__ uint2 four_values(const unsigned char* values, int place, int count, int lane) {
  const int left = count - 4 * (lane % 4);
  if constexpr (sizeof(typename Fragments::Kv) == 2) {
    const uint2 words = reinterpret_cast<const uint2*>(values)[place];
    const uint32_t low = (left > 0 ? 0xffffu : 0) | (left > 1 ? 0xffff0000u : 0);
    const uint32_t high = (left > 2 ? 0xffffu : 0) | (left > 3 ? 0xffff0000u : 0);
    return make_uint2(words.x & low, words.y & high);
  } else {
    const uint32_t kept = left >= 4 ? ~0u : left <= 0 ? 0 : (1u << (8 * left)) - 1;
    return widen_e4m3(reinterpret_cast<const uint32_t*>(values)[place] & kept);
  }
}

// Turns a matrix of eight by eight numbers of two bytes.
__device__ inline uint32_t turned(uint32_t pair) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

// Adds the weighted values of the block's first `count` tokens. sums[i][2 * half + e]: of number
// 16 * i + 8 * half + lane / 4 of head 2 * (lane % 4) + e.
template <int kDim, class Fragments>
__device__ void add_values(const float (&weights)[4], const unsigned char* values, int count, int lane,
                           float2 keep, float (&sums)[kDim / 16][4]) {
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

template <int kDim, class Fragments>
__device__ void keep_sums(const ColumnSoftmax& softmax, const float (&sums)[kDim / 16][4],
                          Shared<kDim, typename Fragments::Kv>& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const int head = 2 * (lane % 4) + e;
    const float total = column_sum(softmax.total[e]);
    if (lane < 4) {
      shared.top[warp][head] = softmax.top[e];
      shared.total[warp][head] = total;
    }
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i)
      shared.sums.numbers[warp][head][8 * i + lane / 4] = sums[i / 2][i % 2 * 2 + e] * Fragments::kFactor;
  }
  __syncthreads();
}

// Two neighbouring numbers of a head, summed with their weights.
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

template <int kDim, class Kv>
__device__ PairSum sum_of_warps(const Shared<kDim, Kv>& shared, int head, int d) {
  PairSum pair;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) pair.top = fmaxf(pair.top, shared.top[w][head]);
  const float base = pair.top == -kInf ? 0 : pair.top;
#pragma unroll
  for (int w = 0; w < kWarps; ++w)
    pair.add(base, shared.top[w][head], shared.total[w][head],
             *reinterpret_cast<const float2*>(&shared.sums.numbers[w][head][d]));
  return pair;
}

// Where the splits of the launch leave what they have: tops, then totals, then sums.
template <int kDim>
struct Partials {
  float* tops;
  float* sums;

  __device__ Partials(const AttentionArgs& args, int item)
      : tops(args.partials + static_cast<std::int64_t>(item) * args.num_heads * 2),
        sums(args.partials + static_cast<std::int64_t>(args.step.num_split_items) * args.num_heads * 2 +
             static_cast<std::int64_t>(item) * args.num_heads * kDim) {}
};

template <int kDim>
__device__ void write_out(const AttentionArgs& args, const Task& task, int head, int d, const PairSum& pair) {
  Bf16* out =
      static_cast<Bf16*>(args.out) +
      (static_cast<std::int64_t>(task.slice.first_row) * args.num_heads + task.first_head + head) * kDim + d;
  *reinterpret_cast<uint32_t*>(out) = pack2(pair.sum.x / pair.total, pair.sum.y / pair.total);
}

// The block that is the last to finish of its row puts the splits together, always in their order.
template <int kDim, class Kv>
__device__ void combine(const AttentionArgs& args, const Task& task, int num_splits,
                        Shared<kDim, Kv>& shared) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int32_t* counter = args.counters +
                            static_cast<std::int64_t>(task.slice.first_item) * args.num_heads +
                            kv_head_of_block(args) * gridDim.z + blockIdx.z;
    shared.is_last = atomicAdd(counter, 1) == num_splits - 1;
    if (shared.is_last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  if (!shared.is_last) return;
  for (int i = threadIdx.x; i < task.num_heads * kDim / 2; i += kWarps * 32) {
    const int head = i / (kDim / 2);
    const int d = i % (kDim / 2) * 2;
    const int own = task.first_head + head;
    PairSum pair;
    for (int s = 0; s < num_splits; ++s)
      pair.top = fmaxf(pair.top, __ldcg(Partials<kDim>(args, task.slice.first_item + s).tops + own));
    for (int s = 0; s < num_splits; ++s) {
      const Partials<kDim> part(args, task.slice.first_item + s);
      pair.add(pair.top, __ldcg(part.tops + own), __ldcg(part.tops + args.num_heads + own),
               __ldcg(reinterpret_cast<const float2*>(part.sums + own * kDim + d)));
    }
    write_out<kDim>(args, task, head, d, pair);
  }
}

template <int kDim, class Fragments>
__global__ void __launch_bounds__(kWarps * 32, kBlocksPerMultiprocessor<typename Fragments::Kv>)
    split_kernel(AttentionArgs args) {
  using Kv = typename Fragments::Kv;
  extern __shared__ __align__(128) unsigned char memory[];
  Shared<kDim, Kv>& shared = *reinterpret_cast<Shared<kDim, Kv>*>(memory);
  release_next();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // The blocks' ids at once: a lane each.
  std::int32_t ids = 0;
  if (lane < kSplitBlocks) ids = args.step.split_blocks[item_of_block(args) * kSplitBlocks + lane];
  const AttentionItem item = args.step.split_items[item_of_block(args)];
  if (item.slice.num_rows == 0) return;
  const Task task(args, item);
  if (lane == 0) {
    for (Barrier& barrier : shared.ready[warp]) make_barrier(&barrier);
    publish_barriers();
  }
  __syncwarp();
  const auto fetch = [&](int round) {
    const int block = task.first_block + warp + round * kWarps;
    const std::int64_t id = __shfl_sync(0xffffffffu, ids, block - task.part * kSplitBlocks);
    if (lane != 0) return;
    constexpr std::uint32_t kBytes = kBlockTokens * kDim * sizeof(Kv);
    const std::int64_t at = (id * args.num_kv_heads + kv_head_of_block(args)) * kBlockTokens * kDim;
    Barrier* ready = &shared.ready[warp][round % kStages];
    expect_bytes(ready, 2 * kBytes);
    copy_bulk(shared.stages.keys[warp][round % kStages], static_cast<const Kv*>(args.k) + at, kBytes, ready);
    copy_bulk(shared.stages.values[warp][round % kStages], static_cast<const Kv*>(args.v) + at, kBytes,
              ready);
  };
  // Only the row's own block is written by this step: the others need not wait for it.
  const int own_block = task.position / kBlockTokens;
  const int num_rounds = max(0, (task.last_block - task.first_block - warp + kWarps - 1) / kWarps);
  const int early = min(num_rounds, kStages);
  const auto is_own = [&](int round) { return task.first_block + warp + round * kWarps == own_block; };
  for (int round = 0; round < early; ++round)
    if (!is_own(round)) fetch(round);
  wait_for_previous();
  for (int round = 0; round < early; ++round)
    if (is_own(round)) fetch(round);
  Queries<kDim, Fragments> q;
  q.load(args, task, lane);

  ColumnSoftmax softmax;
  float sums[kDim / 16][4] = {};
  for (int round = 0; round < num_rounds; ++round) {
    const int stage = round % kStages;
    const int first_token = (task.first_block + warp + round * kWarps) * kBlockTokens;
    wait_for_phase(&shared.ready[warp][stage], round / kStages % 2);
    float scores[4] = {};
    score(q, shared.stages.keys[warp][stage], lane, scores);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + token_of<Fragments>(lane, j / 2);
      const bool seen = at <= task.position && at >= task.first;
      scores[j] = seen ? scaled(args, scores[j] * Fragments::kFactor) : -kInf;
    }
    const float2 keep = softmax.take(scores);
    add_values<kDim, Fragments>(scores, shared.stages.values[warp][stage], task.position + 1 - first_token,
                                lane, keep, sums);
    __syncwarp();
    if (round + kStages < num_rounds) fetch(round + kStages);
  }

  keep_sums<kDim, Fragments>(softmax, sums, shared);
  const int num_splits = task.position / kSplitTokens + 1;
  const Partials<kDim> partials(args, item_of_block(args));
  for (int i = threadIdx.x; i < task.num_heads * kDim / 2; i += kWarps * 32) {
    const int head = i / (kDim / 2);
    const int d = i % (kDim / 2) * 2;
    const int own = task.first_head + head;
    const PairSum pair = sum_of_warps(shared, head, d);
    if (num_splits == 1) {
      write_out<kDim>(args, task, head, d, pair);
      continue;
    }
    *reinterpret_cast<float2*>(partials.sums + own * kDim + d) = pair.sum;
    if (d != 0) continue;
    partials.tops[own] = pair.top;
    partials.tops[args.num_heads + own] = pair.total;
  }
  if (num_splits > 1) combine(args, task, num_splits, shared);
}

template <int kDim, class Fragments>
void launch(StreamHandle stream, const AttentionArgs& args) {
  const int group = args.num_heads / args.num_kv_heads;
  const dim3 blocks(args.num_kv_heads * args.step.num_split_items, 1, ceil_div(group, kHeads));
  constexpr int kBytes = sizeof(Shared<kDim, typename Fragments::Kv>);
  launch_large<split_kernel<kDim, Fragments>>({blocks, kWarps * 32, kBytes}, stream, args);
}

}  // namespace

void attend_rows_split(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_split_items == 0) return;
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch<64, Bf16Fragments>(stream, args);
  if (args.head_dim == 64 && quantized) launch<64, E4m3Fragments>(stream, args);
  if (args.head_dim == 128 && !quantized) launch<128, Bf16Fragments>(stream, args);
  if (args.head_dim == 128 && quantized) launch<128, E4m3Fragments>(stream, args);
}

}  // namespace kvasir::ops::cuda

#include "ops/cuda/attention.cuh"
#include "ops/cuda/bulk.cuh"

namespace kvasir::ops::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kHeads = 16;  // of one KV head that a thread block takes: a fragment's rows
constexpr int kSplitBlocks = kSplitTokens / kBlockTokens;
constexpr int kStages = 2;  // blocks of KV that a warp has in shared memory or on their way

// Each warp has its own stages. A block's keys lie as [16 tokens, dim], its values as [dim, 16 tokens].
template <int kDim>
struct Stages {
  Bf16 keys[kWarps][kStages][kBlockTokens * kDim];
  Bf16 values[kWarps][kStages][kBlockTokens * kDim];
};

// What each warp made of its tokens. Takes the stages' place.
template <int kDim>
struct Sums {
  float numbers[kWarps][kHeads][kDim];
};

template <int kDim>
struct Shared {
  union {
    Stages<kDim> stages;
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
    first_head = blockIdx.y * group + blockIdx.z * kHeads;
    num_heads = min(kHeads, group - static_cast<int>(blockIdx.z) * kHeads);
    first = args.sliding_window > 0 ? max(0, position - args.sliding_window + 1) : 0;
    first_block = max(part * kSplitBlocks, first / kBlockTokens);
    last_block = min((part + 1) * kSplitBlocks, position / kBlockTokens + 1);
  }
};

// Queries of 16 heads in registers. A dot product may add its numbers in any order, so a lane takes eight
// neighbours with one load, of queries and of keys alike.
template <int kDim>
struct Queries {
  uint4 words[2][kDim / 32];  // of the lane's head, and of the one eight below

  __device__ void load(const AttentionArgs& args, const Task& task, int lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int head = lane / 4 + 8 * half;
      const Bf16* row = static_cast<const Bf16*>(args.q) + task.slice.first_row * args.q_stride +
                        static_cast<std::int64_t>(task.first_head + head) * kDim;
      const uint4* from = reinterpret_cast<const uint4*>(row) + lane % 4;
#pragma unroll
      for (int i = 0; i < kDim / 32; ++i)
        words[half][i] = head < task.num_heads ? from[4 * i] : make_uint4(0, 0, 0, 0);
    }
  }
};

// Scores may stand in any order of tokens, so that a lane's four of a value's are neighbours: column 2t + e
// of the first fragment is token 4t + e, of the second token 4t + 2 + e.
template <int kDim>
__device__ void score(const Queries<kDim>& q, const Bf16* keys, int lane, float (&scores)[2][4]) {
  const int n = lane / 4;
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const int token = 4 * (n / 2) + 2 * tile + n % 2;
    const uint4* key = reinterpret_cast<const uint4*>(keys + token * kDim) + lane % 4;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) {
      const uint4 words = key[4 * i];
      const uint32_t low[4] = {q.words[0][i].x, q.words[1][i].x, q.words[0][i].y, q.words[1][i].y};
      const uint32_t high[4] = {q.words[0][i].z, q.words[1][i].z, q.words[0][i].w, q.words[1][i].w};
      multiply(scores[tile], low, words.x, words.y);
      multiply(scores[tile], high, words.z, words.w);
    }
  }
}

// Adds the weighted values of the block's first `count` tokens. What stands behind the sequence's end may be
// anything, and nothing times infinity is not nothing.
template <int kDim>
__device__ void add_values(const float (&weights)[2][4], const Bf16* values, int count, int lane, float2 keep,
                           float (&sums)[kDim / 8][4]) {
  const int first = 4 * (lane % 4);
  const uint32_t low = (first < count ? 0xffffu : 0) | (first + 1 < count ? 0xffff0000u : 0);
  const uint32_t high = (first + 2 < count ? 0xffffu : 0) | (first + 3 < count ? 0xffff0000u : 0);
  const uint32_t a[4] = {pack2(weights[0][0], weights[0][1]), pack2(weights[0][2], weights[0][3]),
                         pack2(weights[1][0], weights[1][1]), pack2(weights[1][2], weights[1][3])};
  const uint2* from = reinterpret_cast<const uint2*>(values) + lane;
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
    const uint2 words = from[32 * i];
    sums[i][0] *= keep.x, sums[i][1] *= keep.x, sums[i][2] *= keep.y, sums[i][3] *= keep.y;
    multiply(sums[i], a, words.x & low, words.y & high);
  }
}

template <int kDim>
__device__ void keep_sums(const Task& task, const RunningSoftmax& softmax, const float (&sums)[kDim / 8][4],
                          Shared<kDim>& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  __syncthreads();  // the stages are done with
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int head = lane / 4 + 8 * half;
    const float total = quad_sum(softmax.total[half]);
    if (head >= task.num_heads) continue;
    if (lane % 4 == 0) {
      shared.top[warp][head] = softmax.top[half];
      shared.total[warp][head] = total;
    }
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i)
      *reinterpret_cast<float2*>(&shared.sums.numbers[warp][head][8 * i + 2 * (lane % 4)]) =
          make_float2(sums[i][2 * half], sums[i][2 * half + 1]);
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

template <int kDim>
__device__ PairSum sum_of_warps(const Shared<kDim>& shared, int head, int d) {
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
        sums(args.partials + static_cast<std::int64_t>(gridDim.x) * args.num_heads * 2 +
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
template <int kDim>
__device__ void combine(const AttentionArgs& args, const Task& task, int num_splits, Shared<kDim>& shared) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int32_t* counter = args.counters +
                            static_cast<std::int64_t>(task.slice.first_item) * args.num_heads +
                            blockIdx.y * gridDim.z + blockIdx.z;
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

template <int kDim>
__global__ void __launch_bounds__(kWarps * 32, 3) split_kernel(AttentionArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  Shared<kDim>& shared = *reinterpret_cast<Shared<kDim>*>(memory);
  release_next();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  // The blocks' ids at once: a lane each.
  std::int32_t ids = 0;
  if (lane < kSplitBlocks) ids = args.step.split_blocks[blockIdx.x * kSplitBlocks + lane];
  const AttentionItem item = args.step.split_items[blockIdx.x];
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
    constexpr std::uint32_t kBytes = kBlockTokens * kDim * sizeof(Bf16);
    const std::int64_t at = (id * args.num_kv_heads + blockIdx.y) * kBlockTokens * kDim;
    Barrier* ready = &shared.ready[warp][round % kStages];
    expect_bytes(ready, 2 * kBytes);
    copy_bulk(shared.stages.keys[warp][round % kStages], static_cast<const Bf16*>(args.k) + at, kBytes,
              ready);
    copy_bulk(shared.stages.values[warp][round % kStages], static_cast<const Bf16*>(args.v) + at, kBytes,
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
  Queries<kDim> q;
  q.load(args, task, lane);

  RunningSoftmax softmax;
  float sums[kDim / 8][4] = {};
  for (int round = 0; round < num_rounds; ++round) {
    const int stage = round % kStages;
    const int first_token = (task.first_block + warp + round * kWarps) * kBlockTokens;
    wait_for_bytes(&shared.ready[warp][stage], round / kStages % 2);
    float scores[2][4] = {};
    score<kDim>(q, shared.stages.keys[warp][stage], lane, scores);
#pragma unroll
    for (int tile = 0; tile < 2; ++tile)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int at = first_token + 4 * (lane % 4) + 2 * tile + j % 2;
        scores[tile][j] = at <= task.position && at >= task.first ? scaled(args, scores[tile][j]) : -kInf;
      }
    const float2 keep = softmax.take(scores);
    add_values<kDim>(scores, shared.stages.values[warp][stage], task.position + 1 - first_token, lane, keep,
                     sums);
    __syncwarp();
    if (round + kStages < num_rounds) fetch(round + kStages);
  }

  keep_sums<kDim>(task, softmax, sums, shared);
  const int num_splits = task.position / kSplitTokens + 1;
  const Partials<kDim> partials(args, blockIdx.x);
  for (int i = threadIdx.x; i < task.num_heads * kDim / 2; i += kWarps * 32) {
    const int head = i / (kDim / 2);
    const int d = i % (kDim / 2) * 2;
    const int own = task.first_head + head;
    const PairSum pair = sum_of_warps<kDim>(shared, head, d);
    if (num_splits == 1) {
      write_out<kDim>(args, task, head, d, pair);
      continue;
    }
    *reinterpret_cast<float2*>(partials.sums + own * kDim + d) = pair.sum;
    if (d != 0) continue;
    partials.tops[own] = pair.top;
    partials.tops[args.num_heads + own] = pair.total;
  }
  if (num_splits > 1) combine<kDim>(args, task, num_splits, shared);
}

template <int kDim>
void launch(StreamHandle stream, const AttentionArgs& args) {
  const int group = args.num_heads / args.num_kv_heads;
  const dim3 blocks(args.step.num_split_items, args.num_kv_heads, ceil_div(group, kHeads));
  constexpr int kBytes = sizeof(Shared<kDim>);
  static const bool raised =
      cudaFuncSetAttribute(split_kernel<kDim>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) ==
      cudaSuccess;
  if (raised) launch_early(split_kernel<kDim>, {blocks, kWarps * 32, kBytes}, stream, args);
}

}  // namespace

void attend_rows_split(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_split_items == 0) return;
  if (args.head_dim == 64) launch<64>(stream, args);
  if (args.head_dim == 128) launch<128>(stream, args);
}

}  // namespace kvasir::ops::cuda

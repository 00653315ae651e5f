#pragma once

#include "ops/cuda/attention_warp.cuh"
#include "ops/cuda/bulk.cuh"

// Attention of single rows. A thread block takes a part of a sequence's tokens, and each of its four warps
// takes every fourth KV block of that part. `Step` is a warp's work on one KV block, for one type of numbers.
namespace kvasir::ops::cuda {

// In the grid, x counts the KV heads of an item and then the items; z counts the parts of a KV head's group
// of query heads.
__device__ inline int kv_head_of_block(const AttentionArgs& args) {
  return static_cast<int>(blockIdx.x) % args.num_kv_heads;
}
__device__ inline int item_of_block(const AttentionArgs& args) {
  return static_cast<int>(blockIdx.x) / args.num_kv_heads;
}

inline constexpr int kWarps = 4;
inline constexpr int kHeads = 8;   // query heads of one KV head in a thread block: a fragment's columns
inline constexpr int kStages = 2;  // KV blocks that a warp has in shared memory or has requested

// A KV block in shared memory. Its keys are [16 tokens, dim], its values [dim, 16 tokens].
template <class Step>
struct alignas(128) Stage {
  static constexpr int kBytes = kBlockTokens * Step::kDim * sizeof(typename Step::Kv);
  unsigned char keys[kBytes];
  unsigned char values[kBytes];
};

// The results of each warp. They reuse the memory of the stages.
template <int kDim>
struct Sums {
  float numbers[kWarps][kHeads][kDim];
};

template <class Step>
struct Shared {
  union {
    Stage<Step> stages[kWarps][kStages];
    Sums<Step::kDim> sums;
  };
  float top[kWarps][kHeads];
  float total[kWarps][kHeads];
  Barrier ready[kWarps][kStages];
  int is_last;
};

// The work of one thread block.
struct Task {
  SliceView slice;
  int part;
  int first_head;
  int num_heads;
  int position;
  int first;        // first token that is seen
  int part_blocks;  // KV blocks of a whole part
  int first_block;  // first KV block of the sequence to read
  int last_block;   // one past the last KV block to read
  int end;          // one past the last token that is seen

  __device__ Task(const AttentionArgs& args, const AttentionItem& item)
      : slice(item.slice), part(item.part), position(item.slice.num_computed) {
    const int group = args.num_heads / args.num_kv_heads;
    first_head = kv_head_of_block(args) * group + blockIdx.z * kHeads;
    num_heads = min(kHeads, group - static_cast<int>(blockIdx.z) * kHeads);
    first = args.sliding_window > 0 ? max(0, position - args.sliding_window + 1) : 0;
    part_blocks = args.step.split_tokens / kBlockTokens;
    first_block = max(part * part_blocks, first / kBlockTokens);
    last_block = min((part + 1) * part_blocks, position / kBlockTokens + 1);
    end = min(last_block * kBlockTokens, position + 1);
  }
};

__device__ inline const Bf16* query_of(const AttentionArgs& args, const Task& task, int head) {
  return static_cast<const Bf16*>(args.q) + task.slice.first_row * args.q_stride +
         static_cast<std::int64_t>(task.first_head + head) * args.head_dim;
}

template <class Step>
__device__ void keep_sums(const Step& step, Shared<Step>& shared) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  __syncthreads();  // no thread reads the stages any more
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const int head = 2 * (lane % 4) + e;
    const float total = column_sum(step.softmax.total[e]);
    if (lane < 4) {
      shared.top[warp][head] = step.softmax.top[e];
      shared.total[warp][head] = total;
    }
#pragma unroll
    for (int i = 0; i < Step::kDim / 8; ++i)
      shared.sums.numbers[warp][head][8 * i + lane / 4] = step.sums[i / 2][i % 2 * 2 + e] * Step::kSumStep;
  }
  __syncthreads();
}

template <class Step>
__device__ PairSum sum_of_warps(const Shared<Step>& shared, int head, int d) {
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

// Where the thread blocks of a launch leave the results of their parts: all tops, then totals, then sums.
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

// The last thread block of a row to finish combines the parts, always in the same order.
template <int kDim>
__device__ void combine(const AttentionArgs& args, const Task& task, int num_splits, int& is_last) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::int32_t* counter = args.counters +
                            static_cast<std::int64_t>(task.slice.first_item) * args.num_heads +
                            kv_head_of_block(args) * gridDim.z + blockIdx.z;
    is_last = atomicAdd(counter, 1) == num_splits - 1;
    if (is_last) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
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

// Fetches a warp's KV blocks, one in each round.
template <class Step>
struct Rounds {
  const AttentionArgs& args;
  const Task& task;
  Shared<Step>& shared;
  const std::int32_t ids;  // ids of the part's KV blocks, one in each lane
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;

  __device__ int block(int round) const { return task.first_block + warp + round * kWarps; }
  __device__ int count() const { return max(0, (task.last_block - block(0) + kWarps - 1) / kWarps); }
  // Whether the round has the row's own token, whose key and value this step writes.
  __device__ bool has_own(int round) const { return block(round) == task.position / kBlockTokens; }
  __device__ void fetch(int round) const {
    constexpr std::uint32_t kBytes = Stage<Step>::kBytes;
    const std::int64_t id = __shfl_sync(0xffffffffu, ids, block(round) - task.part * task.part_blocks);
    if (lane != 0) return;
    const std::int64_t at = (id * args.num_kv_heads + kv_head_of_block(args)) * kBytes;
    Barrier* ready = &shared.ready[warp][round % kStages];
    Stage<Step>& stage = shared.stages[warp][round % kStages];
    expect_bytes(ready, 2 * kBytes);
    copy_bulk(stage.keys, static_cast<const unsigned char*>(args.k) + at, kBytes, ready);
    copy_bulk(stage.values, static_cast<const unsigned char*>(args.v) + at, kBytes, ready);
  }
};

// Stores the thread block's results. `pair_of` returns the results for two neighbouring numbers of a head.
// `is_last` must be in shared memory.
template <int kDim, class F>
__device__ void keep_part(const AttentionArgs& args, const Task& task, int& is_last, F pair_of) {
  const int num_splits = task.position / (task.part_blocks * kBlockTokens) + 1;
  const Partials<kDim> partials(args, item_of_block(args));
  for (int i = threadIdx.x; i < task.num_heads * kDim / 2; i += kWarps * 32) {
    const int head = i / (kDim / 2);
    const int d = i % (kDim / 2) * 2;
    const int own = task.first_head + head;
    const PairSum pair = pair_of(head, d);
    if (num_splits == 1) {
      write_out<kDim>(args, task, head, d, pair);
      continue;
    }
    *reinterpret_cast<float2*>(partials.sums + own * kDim + d) = pair.sum;
    if (d != 0) continue;
    partials.tops[own] = pair.top;
    partials.tops[args.num_heads + own] = pair.total;
  }
  if (num_splits > 1) combine<kDim>(args, task, num_splits, is_last);
}

// The id of the KV block that this lane has of the thread block's part.
__device__ inline std::int32_t block_id_of_lane(const AttentionArgs& args) {
  const int lane = threadIdx.x % 32;
  const int part_blocks = args.step.split_tokens / kBlockTokens;
  return lane < part_blocks ? args.step.split_blocks[item_of_block(args) * part_blocks + lane] : 0;
}

// Fetches the first pieces. Pieces that this step does not write are fetched before the previous kernel is
// done.
template <class Pieces>
__device__ void fetch_first(const Pieces& pieces, int most) {
  const int early = min(pieces.count(), most);
  for (int i = 0; i < early; ++i)
    if (!pieces.has_own(i)) pieces.fetch(i);
  wait_for_previous();
  for (int i = 0; i < early; ++i)
    if (pieces.has_own(i)) pieces.fetch(i);
}

template <class Step>
__global__ void __launch_bounds__(kWarps * 32, Step::kBlocksPerMultiprocessor)
    split_kernel(AttentionArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  Shared<Step>& shared = *reinterpret_cast<Shared<Step>*>(memory);
  release_next();
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const std::int32_t ids = block_id_of_lane(args);
  const AttentionItem item = args.step.split_items[item_of_block(args)];
  if (item.slice.num_rows == 0) return;
  const Task task(args, item);
  if (lane == 0) {
    for (Barrier& barrier : shared.ready[warp]) make_barrier(&barrier);
    publish_barriers();
  }
  __syncwarp();
  const Rounds<Step> rounds{args, task, shared, ids};
  const int num_rounds = rounds.count();
  fetch_first(rounds, kStages);
  Step step;
  step.load_queries(query_of(args, task, 0), task.num_heads, lane);
  for (int round = 0; round < num_rounds; ++round) {
    wait_for_phase(&shared.ready[warp][round % kStages], round / kStages % 2);
    const Stage<Step>& stage = shared.stages[warp][round % kStages];
    const typename Step::InPlace block{stage.keys, stage.values};
    step.take(args, {task.first, task.end}, rounds.block(round) * kBlockTokens, block, lane);
    __syncwarp();
    if (round + kStages < num_rounds) rounds.fetch(round + kStages);
  }
  keep_sums(step, shared);
  keep_part<Step::kDim>(args, task, shared.is_last,
                        [&](int head, int d) { return sum_of_warps(shared, head, d); });
}

inline dim3 split_grid(const AttentionArgs& args) {
  const int group = args.num_heads / args.num_kv_heads;
  return dim3(args.num_kv_heads * args.step.num_split_items, 1, ceil_div(group, kHeads));
}

template <class Step>
void launch_split(StreamHandle stream, const AttentionArgs& args) {
  launch_large<split_kernel<Step>>({split_grid(args), kWarps * 32, sizeof(Shared<Step>)}, stream, args);
}

}  // namespace kvasir::ops::cuda

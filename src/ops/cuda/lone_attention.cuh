#pragma once

#include "ops/cuda/attention_warp.cuh"
#include "ops/cuda/lone_shared.cuh"
#include "ops/cuda/rope.cuh"

// Attention of the only row. A thread block has one KV head and a part of the sequence's blocks, a warp one
// of these at a time, straight from memory: shared memory is full of weights.
namespace kvasir::ops::cuda {

template <class Step>
struct LoneAttention {
  static constexpr int kDim = Step::kDim;
  using Kv = typename Step::Kv;
  static constexpr int kBlockNumbers = kBlockTokens * kDim;  // of a KV head's keys
  // What a thread block leaves of its part: sums, then tops and totals.
  static constexpr int kPartialFloats = kLoneMaxGroup * (kDim + 2);

  const LoneKernelArgs& args;
  LoneShared& shared;
  const LoneLayer& layer;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int group = args.num_heads / args.num_kv_heads;
  const int columns = group <= 4 ? 4 : 8;  // of heads, that a warp leaves sums of
  const int num_warps = kLoneSums / columns;
  const int kv_head = static_cast<int>(blockIdx.x) % args.num_kv_heads;
  const int part = static_cast<int>(blockIdx.x) / args.num_kv_heads;
  TokenRange seen;
  int first_block;  // of the sequence
  int num_blocks;   // up to the last
  int num_parts;

  __device__ LoneAttention(const LoneKernelArgs& a, LoneShared& s, const LoneLayer& l, int position)
      : args(a), shared(s), layer(l) {
    seen.end = position + 1;
    seen.first = l.sliding_window > 0 ? max(0, seen.end - l.sliding_window) : 0;
    first_block = seen.first / kBlockTokens;
    num_blocks = position / kBlockTokens + 1;
    const int most = static_cast<int>(gridDim.x) / args.num_kv_heads;
    num_parts = min((num_blocks - first_block + num_warps - 1) / num_warps, most);
  }

  __device__ bool has_part() const { return part < num_parts; }
  __device__ int own_block() const { return first_block + part * num_warps + warp; }
  __device__ int stride() const { return num_parts * num_warps; }

  __device__ std::int64_t offset_of(int block) const {
    return (static_cast<std::int64_t>(args.blocks[block]) * args.num_kv_heads + kv_head) * kBlockNumbers;
  }

  // Asks the cache for the warp's first block.
  __device__ void prefetch() const {
    if (!has_part() || warp >= num_warps || own_block() >= num_blocks) return;
    constexpr int kLine = 128;
    const std::int64_t at = offset_of(own_block());
    for (int i = lane * kLine; i < kBlockNumbers * static_cast<int>(sizeof(Kv)); i += 32 * kLine) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(
          reinterpret_cast<const char*>(static_cast<const Kv*>(layer.k) + at) + i));
      asm volatile("prefetch.global.L2 [%0];" ::"l"(
          reinterpret_cast<const char*>(static_cast<const Kv*>(layer.v) + at) + i));
    }
  }

  // The result stands in args.attention when each KV head's last block has arrived.
  __device__ void run(const LoneGrid& grid) {
    if (!has_part()) return;
    load_heads();
    turn_heads();
    __syncthreads();
    take_blocks();
    __syncthreads();
    for (int i = threadIdx.x; i < group * kDim / 2; i += kLoneThreads)
      keep(i / (kDim / 2), i % (kDim / 2) * 2);
    if (num_parts > 1 && !put_together()) return;
    grid.arrive();
  }

 private:
  __device__ void load_heads() const {
    if (warp >= group + 2) return;
    int head = kv_head * group + warp;
    if (warp >= group) head = args.num_heads + (warp - group) * args.num_kv_heads + kv_head;
    const auto* from = reinterpret_cast<const uint32_t*>(static_cast<const Bf16*>(args.qkv) + head * kDim);
    auto* to = reinterpret_cast<uint32_t*>(shared.heads + warp * kDim);
    for (int i = lane; i < kDim / 2; i += 32) to[i] = __ldcg(from + i);
    __syncwarp();
  }

  // Queries in place; of the block that the row's own token is in key and value to their places.
  __device__ void turn_heads() const {
    RopeStoreArgs rope;
    rope.style = layer.style;
    rope.head_dim = kDim;
    rope.num_pairs = layer.num_pairs;
    rope.table = layer.rope_table;
    rope.eps = args.eps;
    Bf16* head = shared.heads + warp * kDim;
    if (warp < group) return turn_head(rope, layer.q_norm, 0, head, head);
    const bool has_own = (num_blocks - 1 - first_block) % stride() / num_warps == part;
    if (!has_own || warp >= group + 2) return;
    const int place = (seen.end - 1) % kBlockTokens;
    const std::int64_t at = offset_of(num_blocks - 1);
    if (warp == group)
      return turn_head(rope, layer.k_norm, 0, head, static_cast<Kv*>(layer.k) + at + place * kDim);
    Kv* to = static_cast<Kv*>(layer.v) + at + place;
    for (int i = lane; i < kDim; i += 32) to[i * kBlockTokens] = from_float<Kv>(to_float(head[i]));
  }

  __device__ void take_blocks() const {
    Step step;
    step.load_queries(shared.heads, group, lane);
    AttentionArgs scores;
    scores.scale = args.attention_scale;
    scores.softcap = args.softcap;
    for (int block = warp < num_warps ? own_block() : num_blocks; block < num_blocks; block += stride()) {
      const std::int64_t at = offset_of(block);
      step.take(scores, seen, block * kBlockTokens,
                reinterpret_cast<const unsigned char*>(static_cast<const Kv*>(layer.k) + at),
                reinterpret_cast<const unsigned char*>(static_cast<const Kv*>(layer.v) + at), lane);
    }
    __syncthreads();  // queries are done with
    if (warp >= num_warps) return;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int head = 2 * (lane % 4) + e;
      const float total = column_sum(step.softmax.total[e]);
      if (head >= columns) continue;
      const int row = warp * columns + head;
      if (lane < 4) {
        shared.tops[row] = step.softmax.top[e];
        shared.totals[row] = total;
      }
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i)
        shared.sums[row][8 * i + lane / 4] = step.sums[i / 2][i % 2 * 2 + e] * Step::kSumStep;
    }
  }

  // What the warps have of two numbers of a head.
  __device__ void keep(int head, int d) const {
    PairSum pair;
    for (int w = 0; w < num_warps; ++w) pair.top = fmaxf(pair.top, shared.tops[w * columns + head]);
    for (int w = 0; w < num_warps; ++w) {
      const int row = w * columns + head;
      pair.add(pair.top, shared.tops[row], shared.totals[row],
               *reinterpret_cast<const float2*>(&shared.sums[row][d]));
    }
    if (num_parts == 1) return write(head, d, pair);
    float* partial = args.partials + static_cast<std::int64_t>(blockIdx.x) * kPartialFloats;
    *reinterpret_cast<float2*>(partial + head * kDim + d) = pair.sum;
    if (d != 0) return;
    partial[kLoneMaxGroup * kDim + head] = pair.top;
    partial[kLoneMaxGroup * (kDim + 1) + head] = pair.total;
  }

  // By the last of a KV head's blocks; others get false.
  __device__ bool put_together() const {
    __syncthreads();
    if (threadIdx.x == 0) {
      std::int32_t* counter = args.counters + 2 + kv_head;
      __threadfence();
      shared.is_last = atomicAdd(counter, 1) == num_parts - 1;
      if (shared.is_last) *counter = 0;
      __threadfence();
    }
    __syncthreads();
    if (!shared.is_last) return false;
    for (int i = threadIdx.x; i < group * kDim / 2; i += kLoneThreads) {
      const int head = i / (kDim / 2);
      const int d = i % (kDim / 2) * 2;
      const auto partial = [&](int p) {
        return args.partials + static_cast<std::int64_t>(p * args.num_kv_heads + kv_head) * kPartialFloats;
      };
      PairSum pair;
#pragma unroll 4
      for (int p = 0; p < num_parts; ++p)
        pair.top = fmaxf(pair.top, __ldcg(partial(p) + kLoneMaxGroup * kDim + head));
#pragma unroll 4
      for (int p = 0; p < num_parts; ++p)
        pair.add(pair.top, __ldcg(partial(p) + kLoneMaxGroup * kDim + head),
                 __ldcg(partial(p) + kLoneMaxGroup * (kDim + 1) + head),
                 __ldcg(reinterpret_cast<const float2*>(partial(p) + head * kDim + d)));
      write(head, d, pair);
    }
    return true;
  }

  __device__ void write(int head, int d, const PairSum& pair) const {
    Bf16* out = static_cast<Bf16*>(args.attention) + (kv_head * group + head) * kDim + d;
    *reinterpret_cast<uint32_t*>(out) = pack2(pair.sum.x / pair.total, pair.sum.y / pair.total);
  }
};

}  // namespace kvasir::ops::cuda

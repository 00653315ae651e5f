#pragma once

#include "ops/cuda/attention_warp.cuh"
#include "ops/cuda/lone_shared.cuh"
#include "ops/cuda/lone_words.cuh"
#include "ops/cuda/rope.cuh"

// Attention of the only row of a step. A thread block takes one KV head and a part of the sequence's KV
// blocks. A warp takes one of these blocks at a time, straight from global memory, since shared memory is
// full of weights.
namespace kvasir::ops::cuda {

template <class Step>
struct LoneAttention {
  static constexpr int kDim = Step::kDim;
  using Kv = typename Step::Kv;
  static constexpr int kBlockNumbers = kBlockTokens * kDim;  // numbers in a KV head's keys
  // What a thread block stores for a head: the sums, then the largest score and the sum of weights.
  static constexpr int kPartialWords = kDim + 2;

  const LoneKernelArgs& args;
  LoneShared& shared;
  const LoneLayer& layer;
  const std::uint32_t tag;
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int group = args.num_heads / args.num_kv_heads;
  const int columns = group <= 4 ? 4 : 8;                      // heads whose sums a warp stores
  const int num_warps = min(kLoneWarps, kLoneSums / columns);  // warps that take KV blocks
  const int kv_head = block % args.num_kv_heads;
  const int part = block / args.num_kv_heads;
  TokenRange seen;
  int first_block;  // first block of the sequence that is seen
  int num_blocks;   // blocks of the whole sequence
  int num_parts;

  __device__ LoneAttention(const LoneKernelArgs& a, LoneShared& s, const LoneLayer& l, int position,
                           std::uint32_t t)
      : args(a), shared(s), layer(l), tag(t) {
    seen.end = position + 1;
    seen.first = l.sliding_window > 0 ? max(0, seen.end - l.sliding_window) : 0;
    first_block = seen.first / kBlockTokens;
    num_blocks = position / kBlockTokens + 1;
    const int most = static_cast<int>(gridDim.x) / args.num_kv_heads;
    num_parts = min((num_blocks - first_block + num_warps - 1) / num_warps, most);
  }

  // Prefetches the warp's first block.
  __device__ void prefetch() const {
    if (!has_block()) return;
    constexpr int kLine = 128;
    const auto place = place_of(own_block());
    for (int i = lane * kLine; i < kBlockNumbers * static_cast<int>(sizeof(Kv)); i += 32 * kLine) {
      prefetch_line(place.keys + i);
      prefetch_line(place.values + i);
    }
  }

  __device__ bool has_part() const { return part < num_parts; }

  // Computes args.attention from args.qkv, once qkv is there or about to be. Only thread blocks that have a
  // part call this.
  template <class Wait>
  __device__ void run(const Wait& wait) const {
    typename Step::InRegisters first{};
    const bool is_early = has_block() && own_block() != num_blocks - 1;  // this step writes to the last block
    if (is_early) first.load_keys(place_of(own_block()));
    wait();
    load_heads();
    if (is_early) first.load_values(place_of(own_block()));
    __syncthreads();
    if (has_block() && !is_early) {
      first.load_keys(place_of(own_block()));
      first.load_values(place_of(own_block()));
    }
    take_blocks(first);
    __syncthreads();
    for (int i = thread; i < group * kDim / 2; i += kLoneThreads) give(i / (kDim / 2), i % (kDim / 2) * 2);
    if (part != 0) return;
    __syncthreads();
    if (thread == 0) count_given(args.num_given);
  }

 private:
  __device__ int own_block() const { return first_block + part * num_warps + warp; }
  __device__ int stride() const { return num_parts * num_warps; }
  __device__ bool has_block() const {
    return part < num_parts && warp < num_warps && own_block() < num_blocks;
  }
  // Whether the row's own token is in one of the thread block's blocks.
  __device__ bool has_token() const { return (num_blocks - 1 - first_block) % stride() / num_warps == part; }

  __device__ std::int64_t offset_of(int block) const {
    return (static_cast<std::int64_t>(args.blocks[block]) * args.num_kv_heads + kv_head) * kBlockNumbers;
  }
  __device__ typename Step::InPlace place_of(int block) const {
    const std::int64_t at = offset_of(block) * static_cast<int>(sizeof(Kv));
    return {static_cast<const unsigned char*>(layer.k) + at, static_cast<const unsigned char*>(layer.v) + at};
  }

  // Loads and rotates the queries. The thread block that has the row's token also stores its key and value.
  __device__ void load_heads() const {
    RopeStoreArgs rope;
    rope.head_dim = kDim;
    rope.eps = args.eps;
    if (layer.rope >= 0) {
      rope.style = args.ropes[layer.rope].style;
      rope.num_pairs = args.ropes[layer.rope].num_pairs;
      rope.table = shared.ropes[layer.rope];
    }
    const int num_heads = group + (has_token() ? 2 : 0);
#pragma unroll 1
    for (int i = warp; i < num_heads; i += kLoneWarps) {
      Bf16* head = shared.heads + i * kDim;
      int from = kv_head * group + i;
      if (i >= group) from = args.num_heads + (i - group) * args.num_kv_heads + kv_head;
      await_head(args.qkv + from * kDim, head);
      if (i < group)
        turn_head(rope, layer.q_norm, 0, head, head);
      else
        store(rope, head, i == group);
    }
  }

  __device__ void await_head(const std::uint32_t* from, Bf16* head) const {
    if (4 * lane < kDim) {
      const auto* words = reinterpret_cast<const uint4*>(from) + lane;
      uint4 four = peek(words);
      while (!has_tag(four, tag)) four = peek(words);
      *reinterpret_cast<uint2*>(head + 4 * lane) = values_of(four);
    }
    __syncwarp();
  }

  __device__ void store(const RopeStoreArgs& rope, const Bf16* head, bool is_key) const {
    const int place = (seen.end - 1) % kBlockTokens;
    const std::int64_t at = offset_of(num_blocks - 1);
    if (is_key) return turn_head(rope, layer.k_norm, 0, head, static_cast<Kv*>(layer.k) + at + place * kDim);
    Kv* to = static_cast<Kv*>(layer.v) + at + place;
    for (int i = lane; i < kDim; i += 32) to[i * kBlockTokens] = from_float<Kv>(to_float(head[i]));
  }

  __device__ void take_blocks(const typename Step::InRegisters& first) const {
    Step step;
    step.load_queries(shared.heads, group, lane);
    AttentionArgs scores;
    scores.scale = args.attention_scale;
    scores.softcap = args.softcap;
    if (has_block()) {
      step.take(scores, seen, own_block() * kBlockTokens, first, lane);
      for (int next = own_block() + stride(); next < num_blocks; next += stride())
        step.take(scores, seen, next * kBlockTokens, place_of(next), lane);
    }
    __syncthreads();  // no thread reads the queries any more
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

  // Passes on two numbers of a head: the first part publishes the result, and other parts send theirs to the
  // first.
  __device__ void give(int head, int d) const {
    PairSum pair;
    for (int w = 0; w < num_warps; ++w) pair.top = fmaxf(pair.top, shared.tops[w * columns + head]);
    for (int w = 0; w < num_warps; ++w) {
      const int row = w * columns + head;
      pair.add(pair.top, shared.tops[row], shared.totals[row],
               *reinterpret_cast<const float2*>(&shared.sums[row][d]));
    }
    if (part == 0) {
      add_other_parts(head, d, pair);
      std::uint32_t* out = args.attention + (kv_head * group + head) * kDim + d;
      publish(out, pair.sum.x / pair.total, tag);
      publish(out + 1, pair.sum.y / pair.total, tag);
      return;
    }
    TaggedFloat* partial = partial_of(part, head);
    publish(partial + d, pair.sum.x, tag);
    publish(partial + d + 1, pair.sum.y, tag);
    if (d != 0) return;
    publish(partial + kDim, pair.top, tag);
    publish(partial + kDim + 1, pair.total, tag);
  }

  __device__ TaggedFloat* partial_of(int p, int head) const {
    return args.partials +
           static_cast<std::int64_t>((p * args.num_kv_heads + kv_head) * kLoneMaxGroup + head) *
               kPartialWords;
  }

  __device__ void add_other_parts(int head, int d, PairSum& pair) const {
    constexpr int kAtOnce = 4;
    for (int p = 1; p < num_parts; p += kAtOnce) {
      TaggedPair ends[kAtOnce] = {};  // for each part: the largest score and the sum of weights
      TaggedPair sums[kAtOnce] = {};
      bool there = false;
      while (!there) {
        there = true;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (p + i >= num_parts) continue;
          const TaggedFloat* partial = partial_of(p + i, head);
          ends[i] = peek_pair(partial + kDim);
          sums[i] = peek_pair(partial + d);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          there = there && (p + i >= num_parts || (ends[i].has_tag(tag) && sums[i].has_tag(tag)));
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (p + i >= num_parts) continue;
        const float top = ends[i].first.value();
        const float highest = fmaxf(pair.top, top);
        const float keep = exp2f(pair.top - highest);
        pair.total *= keep;
        pair.sum.x *= keep;
        pair.sum.y *= keep;
        pair.top = highest;
        pair.add(highest, top, ends[i].second.value(),
                 make_float2(sums[i].first.value(), sums[i].second.value()));
      }
    }
  }
};

}  // namespace kvasir::ops::cuda

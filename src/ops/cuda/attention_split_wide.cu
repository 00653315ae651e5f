#include "ops/cuda/attention_split.cuh"
#include "ops/cuda/e4m3.cuh"
#include "ops/cuda/tensor_map.h"
#include "ops/cuda/warpgroup.cuh"

// Attention of single rows over blocks of e4m3, by a warpgroup, whose products take such numbers directly. It
// works on tiles of 64 tokens. The rows of a product are tokens, or numbers of a head. Its columns are heads:
// eight columns for the high parts of queries or weights, and eight for the low parts.
namespace kvasir::ops::cuda {
namespace {

constexpr int kDim = 128;
constexpr int kTileBlocks = 4;
constexpr int kTileTokens = kTileBlocks * kBlockTokens;
constexpr int kBlockBytes = kBlockTokens * kDim;
constexpr int kTileStages = 3;
constexpr int kSumPitch = kDim + 4;
constexpr int kTilesPerMultiprocessor = 4;  // thread blocks on a multiprocessor

struct WideStage {
  unsigned char keys[kTileBlocks][kBlockBytes];    // [token, number], chunks swizzled
  unsigned char values[kTileBlocks][kBlockBytes];  // [number, 16 tokens]
};

struct alignas(1024) WideShared {
  WideStage stages[kTileStages];
  unsigned char queries[2 * kHeads][kDim];  // chunks swizzled
  // The weights of two turns: [16 tokens][high or low][head, 16 tokens].
  unsigned char weights[2][kTileBlocks][2][kHeads][kBlockTokens];
  float tops[2][kWarps][kHeads];
  float query_steps[kHeads];
  float totals[kWarps][kHeads];
  Barrier ready[kTileStages];
  int is_last;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Describes rows of 16 bytes in groups of eight. `apart` is the distance from one 16 columns to the next.
__device__ std::uint64_t describe_rows(const void* first, int eight_rows, int apart) {
  return static_cast<std::uint64_t>(eight_rows / 16) << 32 | static_cast<std::uint64_t>(apart / 16) << 16 |
         (shared_address(first) & 0x3ffff) / 16;
}

struct WideTask {
  const AttentionArgs& args;
  const CUtensorMap& keys;
  const Task& task;
  WideShared& shared;
  const std::int32_t ids;  // ids of the part's KV blocks, one in each lane
  const int kv_head = kv_head_of_block(args);
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;

  ColumnSoftmax softmax;
  float sums[2][8] = {};  // [0]: numbers 0 to 63 of a head, [1]: 64 to 127

  __device__ int first_block(int tile) const { return task.first_block + tile * kTileBlocks; }
  __device__ int count() const {
    return max(0, (task.last_block - task.first_block + kTileBlocks - 1) / kTileBlocks);
  }
  // Whether the tile has the row's own token, whose key and value this step writes.
  __device__ bool has_own(int tile) const {
    const int own = task.position / kBlockTokens;
    return first_block(tile) <= own && own < first_block(tile) + kTileBlocks;
  }

  // Each warp fetches one block: a single warp could not start so many copies fast enough.
  __device__ void fetch(int tile) const {
    const int block = first_block(tile) + warp;
    Barrier* ready = &shared.ready[tile % kTileStages];
    WideStage& stage = shared.stages[tile % kTileStages];
    const bool there = block < task.last_block;
    const std::int64_t id = __shfl_sync(0xffffffffu, ids, there ? block - task.part * task.part_blocks : 0);
    if (lane != 0) return;
    expect_bytes(ready, there ? 2 * kBlockBytes : 0);
    if (!there) return;
    const std::int64_t head = id * args.num_kv_heads + kv_head;
    copy_tile(stage.keys[warp], keys, 0, static_cast<int>(head * kBlockTokens), ready);
    copy_bulk(stage.values[warp], static_cast<const unsigned char*>(args.v) + head * kBlockBytes, kBlockBytes,
              ready);
  }

  // Each thread loads eight numbers, so sixteen threads load a head.
  __device__ void put_queries() const {
    const int head = threadIdx.x / 16;
    const int part = threadIdx.x % 16;
    float x[8] = {};
    if (head < task.num_heads) load8(query_of(args, task, head) + 8 * part, x);
    float largest = 1e-30f;
#pragma unroll
    for (const float value : x) largest = fmaxf(largest, fabsf(value));
#pragma unroll
    for (int step = 1; step < 16; step *= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    const float factor = kTwoBytesMost / largest;
    uint32_t high[2] = {};
    uint32_t low[2] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const TwoBytes two(x[2 * i] * factor, x[2 * i + 1] * factor);
      high[i / 2] |= two.high << (i % 2 * 16);
      low[i / 2] |= two.low << (i % 2 * 16);
    }
    const int at = ((part / 2) ^ head) * 16 + part % 2 * 8;
    *reinterpret_cast<uint2*>(&shared.queries[head][at]) = make_uint2(high[0], high[1]);
    *reinterpret_cast<uint2*>(&shared.queries[kHeads + head][at]) = make_uint2(low[0], low[1]);
    if (part == 0) shared.query_steps[head] = largest / kTwoBytesMost;
  }

  // scores[2 * half + e] is the score of token 16 * warp + lane / 4 + 8 * half and head 2 * (lane % 4) + e.
  __device__ void score(const WideStage& stage, int first_token, float (&scores)[4]) const {
    float both[8];
    begin_products();
#pragma unroll
    for (int k = 0; k < kDim / 32; ++k)
      multiply_tiles_of<E4m3, 2 * kHeads>(both, describe_tile(stage.keys, k),
                                          describe_tile(shared.queries, k), k > 0 ? 1 : 0);
    end_products();
    wait_for_products<0>();
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int at = first_token + 16 * warp + lane / 4 + j / 2 * 8;
      const bool seen = at < task.end && at >= task.first;
      const float dot = (both[j] + both[4 + j] * kLowStep) * shared.query_steps[2 * (lane % 4) + j % 2];
      scores[j] = seen ? scaled(args, dot) : -kInf;
    }
  }

  // Turns scores into weights, and rescales the sums so far.
  __device__ void take(float (&scores)[4], int turn) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float high = column_max(fmaxf(scores[e], scores[2 + e]));
      if (lane < 4) shared.tops[turn][warp][2 * lane + e] = high;
    }
    __syncthreads();
    float keep[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float high = -kInf;
#pragma unroll
      for (const auto& tops : shared.tops[turn]) high = fmaxf(high, tops[2 * (lane % 4) + e]);
      keep[e] = softmax.take(e, high, scores);
    }
#pragma unroll
    for (auto& half : sums)
#pragma unroll
      for (int i = 0; i < 8; ++i) half[i] *= keep[i % 2];
  }

  __device__ void put_weights(const float (&scores)[4], int turn) const {
    auto& weights = shared.weights[turn][warp];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const TwoBytes two(scores[e] * kTwoBytesMost, scores[2 + e] * kTwoBytesMost);
      const int head = 2 * (lane % 4) + e;
      weights[0][head][lane / 4] = static_cast<unsigned char>(two.high);
      weights[0][head][lane / 4 + 8] = static_cast<unsigned char>(two.high >> 8);
      weights[1][head][lane / 4] = static_cast<unsigned char>(two.low);
      weights[1][head][lane / 4 + 8] = static_cast<unsigned char>(two.low >> 8);
    }
  }

  // Replaces the values after the first `count` tokens by zeros, since they may be NaN.
  __device__ void clear_values(WideStage& stage, int count) const {
#pragma unroll
    for (int block = 0; block < kTileBlocks; ++block) {
      const int left = count - block * kBlockTokens;
      if (left >= kBlockTokens) continue;
      auto& row = reinterpret_cast<uint4*>(stage.values[block])[threadIdx.x];
      const auto kept = [&](int word) {
        const int bytes = left - 4 * word;
        return bytes >= 4 ? ~0u : bytes <= 0 ? 0u : (1u << (8 * bytes)) - 1;
      };
      row = make_uint4(row.x & kept(0), row.y & kept(1), row.z & kept(2), row.w & kept(3));
    }
  }

  __device__ void add_values(const WideStage& stage, int turn) {
    begin_products();
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int k = 0; k < 2; ++k)
        multiply_tiles_of<E4m3, 2 * kHeads>(
            sums[half], describe_rows(stage.values[2 * k] + half * 64 * kBlockTokens, 128, kBlockBytes),
            describe_rows(shared.weights[turn][2 * k], 128, 256), 1);
    end_products();
    wait_for_products<0>();
  }

  __device__ void run() {
    const int num_tiles = count();
    for (int tile = 0; tile < num_tiles; ++tile) {
      WideStage& stage = shared.stages[tile % kTileStages];
      const int first_token = first_block(tile) * kBlockTokens;
      const int turn = tile % 2;
      wait_for_phase(&shared.ready[tile % kTileStages], tile / kTileStages % 2);
      float scores[4];
      score(stage, first_token, scores);
      take(scores, turn);
      put_weights(scores, turn);
      const int count = task.end - first_token;
      if (count < kTileTokens) clear_values(stage, count);
      show_tiles();
      __syncthreads();
      add_values(stage, turn);
      if (tile + kTileStages >= num_tiles) continue;
      __syncthreads();  // no thread reads the stage any more
      fetch(tile + kTileStages);
    }
  }

  // Stores the sums as [head, number] for keep_part. They reuse the memory of the stages.
  __device__ void put_sums(float* place) const {
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int head = 2 * (lane % 4) + e;
      const float sum = column_sum(softmax.total[e]);
      if (lane < 4) shared.totals[warp][head] = sum;
      if (lane < 4 && warp == 0) shared.tops[0][0][head] = softmax.top[e];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int d = i / 2 * 64 + 16 * warp + lane / 4 + i % 2 * 8;
        const float(&half)[8] = sums[i / 2];
        place[head * kSumPitch + d] =
            (half[i % 2 * 2 + e] + half[4 + i % 2 * 2 + e] * kLowStep) / kTwoBytesMost;
      }
    }
    __syncthreads();
  }
};

#endif

__global__ void __launch_bounds__(kWarps * 32, kTilesPerMultiprocessor)
    wide_split_kernel(const __grid_constant__ CUtensorMap keys, const __grid_constant__ AttentionArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<WideShared*>((reinterpret_cast<std::uintptr_t>(memory) + 1023) &
                                                ~std::uintptr_t{1023});
  release_next();
  const std::int32_t ids = block_id_of_lane(args);
  const AttentionItem item = args.step.split_items[item_of_block(args)];
  if (item.slice.num_rows == 0) return;
  const Task task(args, item);
  if (threadIdx.x == 0) {
    for (Barrier& barrier : shared.ready) make_barrier(&barrier, kWarps);
    publish_barriers();
  }
  __syncthreads();
  WideTask wide{args, keys, task, shared, ids};
  fetch_first(wide, kTileStages);
  wide.put_queries();
  show_tiles();
  __syncthreads();
  wide.run();
  auto* place = reinterpret_cast<float*>(shared.stages);
  wide.put_sums(place);
  keep_part<kDim>(args, task, shared.is_last, [&](int head, int d) {
    PairSum pair;
    pair.top = shared.tops[0][0][head];
    for (const auto& totals : shared.totals) pair.total += totals[head];
    pair.sum = *reinterpret_cast<const float2*>(place + head * kSumPitch + d);
    return pair;
  });
#endif
}

}  // namespace

void attend_rows_split_wide(StreamHandle stream, const AttentionArgs& args) {
  CUtensorMap keys;
  const std::int64_t rows = std::int64_t{args.num_blocks} * args.num_kv_heads * kBlockTokens;
  if (!describe_matrix({args.k, rows, kDim, 1, kBlockTokens}, keys)) return;
  launch_large<wide_split_kernel>({split_grid(args), kWarps * 32, sizeof(WideShared) + 1024}, stream, keys,
                                  args);
}

}  // namespace kvasir::ops::cuda

#include "ops/cuda/attention.cuh"
#include "ops/cuda/warpgroup.cuh"

// A thread block takes two neighbouring tiles of (row, head) pairs. One warpgroup copies keys and values,
// always a step ahead. Two other warpgroups compute a tile each, so that one can compute weights while the
// other multiplies.
namespace kvasir::ops::cuda {
namespace {

constexpr int kDim = 128;
constexpr int kStepTokens = 128;
constexpr int kSteps = 2;  // steps that shared memory holds
constexpr int kGroupThreads = 128;
constexpr int kConsumers = 2;
constexpr int kWideThreads = (1 + kConsumers) * kGroupThreads;
static_assert(kTileRows == 64);

// A step's keys and values as tiles of 64 columns, in the layout of warpgroup.cuh.
struct WideStage {
  uint4 keys[kDim / 64][kStepTokens][8];
  uint4 values[kStepTokens / 64][kDim][8];
};

struct WideMemory {
  uint4 queries[kConsumers][kDim / 64][kTileRows][8];
  WideStage stages[kSteps];
};

struct Ready {
  Barrier full[kSteps];
  Barrier empty[kSteps];
};

struct Shared {
  Ready keys, values;
};

// The work of a thread block.
struct Work {
  SliceView slice;
  int first_index, num_indices;  // the (row, head) pairs
  int group;                     // query heads of a KV head
  int first_token, num_tokens;   // the tokens of this block's share

  __device__ Work(const AttentionArgs& args, const AttentionItem& item) : slice(item.slice) {
    group = args.num_heads / args.num_kv_heads;
    first_index = item.part * kTileRows;
    num_indices = slice.num_rows * group;
    const int last_row = (min(first_index + kConsumers * kTileRows, num_indices) - 1) / group;
    num_tokens = slice.num_computed + last_row + 1;
    const int first_seen = slice.num_computed + first_index / group - args.sliding_window + 1;
    first_token = args.sliding_window > 0 ? max(0, first_seen) / kStepTokens * kStepTokens : 0;
    if (gridDim.z == 1) return;
    const int steps = (num_tokens - first_token + kStepTokens - 1) / kStepTokens;
    const int share = (steps + static_cast<int>(gridDim.z) - 1) / static_cast<int>(gridDim.z) * kStepTokens;
    first_token += static_cast<int>(blockIdx.z) * share;
    num_tokens = min(num_tokens, first_token + share);
  }
};

// Copies the keys and values of steps. Tokens past the end become zeros.
struct Producer {
  static constexpr int kBlocks = kStepTokens / kBlockTokens;
  const Work& work;
  const std::int32_t* const blocks;
  const std::int64_t block_elems;
  // The chunks that this thread copies of each block's keys and values.
  const int key_chunk = threadIdx.x % 16;
  const int key_row = threadIdx.x / 16;  // and the row eight below
  const int half = threadIdx.x % 2;      // which half of a block's tokens
  const int dim = threadIdx.x / 2;       // and the number 64 after it
  const Bf16* k;
  const Bf16* v;
  std::int32_t ids[kBlocks];

  __device__ Producer(const AttentionArgs& args, const Work& w)
      : work(w),
        blocks(args.step.blocks + w.slice.first_block),
        block_elems(static_cast<std::int64_t>(args.num_kv_heads) * kDim * kBlockTokens) {
    const std::int64_t head = blockIdx.y * static_cast<std::int64_t>(kDim * kBlockTokens);
    k = static_cast<const Bf16*>(args.k) + head + key_row * kDim + key_chunk * 8;
    v = static_cast<const Bf16*>(args.v) + head + dim * kBlockTokens + half * 8;
  }

  __device__ void look_up(int first) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      ids[i] = first + i * kBlockTokens < work.num_tokens ? blocks[first / kBlockTokens + i] : 0;
  }

  template <bool kWhole>
  __device__ void copy_keys(int first, WideStage& stage) const {
    const int spot = key_chunk % 8 ^ key_row;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const Bf16* from = k + ids[i] * block_elems;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int token = i * kBlockTokens + 8 * j + key_row;
        copy_async(&stage.keys[key_chunk / 8][token][spot], from + 8 * j * kDim,
                   kWhole || first + token < work.num_tokens ? 16 : 0);
      }
    }
  }

  template <bool kWhole>
  __device__ void copy_values(int first, WideStage& stage) const {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const Bf16* from = v + ids[i] * block_elems;
      const int left = work.num_tokens - first - i * kBlockTokens - half * 8;
      const int bytes = kWhole ? 16 : 2 * min(8, max(0, left));
      const int spot = (i % 4 * 2 + half) ^ dim % 8;
#pragma unroll
      for (int j = 0; j < 2; ++j)
        copy_async(&stage.values[i / 4][dim + 64 * j][spot], from + 64 * j * kBlockTokens, bytes);
    }
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The work of one of the warpgroups that multiply. A lane has row lane / 4 of its warp's 16 rows, and the row
// eight below.
struct Consumer {
  const AttentionArgs& args;
  const Work& work;
  const int number = threadIdx.x / kGroupThreads - 1;
  const int lane = threadIdx.x % 32;
  const int first = work.first_index + number * kTileRows;
  int position[2];
  float top[2] = {-kInf, -kInf};
  float total[2] = {0, 0};  // over this lane's columns only
  float sums[64] = {};

  __device__ Consumer(const AttentionArgs& a, const Work& w) : args(a), work(w) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      position[half] =
          index_of(half) < work.num_indices ? work.slice.num_computed + index_of(half) / work.group : -1;
  }

  __device__ int index_of(int half) const { return first + threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * half; }
  __device__ bool has_rows() const { return first < work.num_indices; }

  __device__ void load_queries(WideMemory& memory) const {
    const int chunk = threadIdx.x % 16;
    const auto* q = static_cast<const Bf16*>(args.q) + chunk * 8;
    for (int row = threadIdx.x % kGroupThreads / 16; row < kTileRows; row += kGroupThreads / 16) {
      const int index = first + row;
      uint4 words = make_uint4(0, 0, 0, 0);
      if (index < work.num_indices)
        words =
            *reinterpret_cast<const uint4*>(q + (work.slice.first_row + index / work.group) * args.q_stride +
                                            (blockIdx.y * work.group + index % work.group) * kDim);
      memory.queries[number][chunk / 8][row][chunk % 8 ^ row % 8] = words;
    }
    show_tiles();
    sync_warpgroup(1 + number);
  }

  __device__ void score(const WideMemory& memory, const WideStage& stage, float (&scores)[64]) const {
    show_tiles();
    begin_products();
#pragma unroll
    for (int k = 0; k < kDim / kTileDepth; ++k)
      multiply_tiles(scores, describe_tile(memory.queries[number][k / 4], k % 4),
                     describe_tile(stage.keys[k / 4], k % 4), k > 0 ? 1 : 0);
    end_products();
    wait_for_products<0>();
  }

  // Hides the scores of tokens that a row does not see; `token` is the first token of the step.
  __device__ void hide(int token, float (&scores)[64]) const {
    const int window = args.sliding_window;
    const int earliest = work.slice.num_computed + first / work.group;
    const int latest = work.slice.num_computed + (min(first + kTileRows, work.num_indices) - 1) / work.group;
    if (token + kStepTokens - 1 <= earliest && (window == 0 || token > latest - window)) return;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const int at = token + i / 4 * 8 + 2 * (lane % 4) + i % 2;
      const int own = position[i / 2 % 2];
      if (at > own || (window > 0 && at <= own - window)) scores[i] = -kInf;
    }
  }

  // Turns scores into weights, and rescales the sums so far.
  __device__ void weigh(float (&scores)[64]) {
    const float scale = args.scale * kLog2E;
    float keep[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float high = top[half];
#pragma unroll
      for (int i = 2 * half; i < 64; i += 4) high = fmaxf(high, fmaxf(scores[i], scores[i + 1]));
      high = quad_max(high);
      const float base = high == -kInf ? 0 : high * scale;            // no token seen yet
      keep[half] = power_of_two(__fmul_rn(top[half], scale) - base);  // exactly 1 if nothing is larger
      top[half] = high;
      float sum = 0;
#pragma unroll
      for (int i = 2 * half; i < 64; i += 4) {
#pragma unroll
        for (int j = i; j < i + 2; ++j) sum += scores[j] = power_of_two(fmaf(scores[j], scale, -base));
      }
      total[half] = total[half] * keep[half] + sum;
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) sums[i] *= keep[i / 2 % 2];
  }

  __device__ void add(const WideStage& stage, const float (&weights)[64]) {
    std::uint32_t packed[kStepTokens / kTileDepth][4];
#pragma unroll
    for (int i = 0; i < 32; ++i) packed[i / 4][i % 4] = pack2(weights[2 * i], weights[2 * i + 1]);
    show_tiles();
    begin_products();
#pragma unroll
    for (int k = 0; k < kStepTokens / kTileDepth; ++k)
      multiply_tiles(sums, packed[k], describe_tile(stage.values[k / 4], k % 4));
    end_products();
    wait_for_products<0>();
  }

  // Stores this thread block's share for combine_kernel.
  __device__ void store_share(int item) const {
    const std::int64_t tile =
        (static_cast<std::int64_t>(item + number) * gridDim.y + blockIdx.y) * gridDim.z + blockIdx.z;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weights = quad_sum(total[half]);
      const int row = threadIdx.x / 32 % 4 * 16 + lane / 4 + 8 * half;
      float* to = args.tile_partials + (tile * kTileRows + row) * kTilePartialRow;
      if (lane % 4 == 0)
        *reinterpret_cast<float2*>(to) = make_float2(top[half] * args.scale * kLog2E, weights);
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i)
        *reinterpret_cast<float2*>(to + 4 + 8 * i + 2 * (lane % 4)) =
            make_float2(sums[4 * i + 2 * half], sums[4 * i + 2 * half + 1]);
    }
  }

  __device__ void store() const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = 1 / quad_sum(total[half]);
      const int index = index_of(half);
      if (index >= work.num_indices) continue;
      Bf16* out = static_cast<Bf16*>(args.out) +
                  ((work.slice.first_row + index / work.group) * static_cast<std::int64_t>(args.num_heads) +
                   blockIdx.y * work.group + index % work.group) *
                      kDim +
                  2 * (lane % 4);
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i)
        *reinterpret_cast<std::uint32_t*>(out + 8 * i) =
            pack2(sums[4 * i + 2 * half] * factor, sums[4 * i + 2 * half + 1] * factor);
    }
  }
};

__device__ void consume(const AttentionArgs& args, const Work& work, int item, WideMemory& memory,
                        Shared& shared) {
  Consumer consumer(args, work);
  const bool speaks = threadIdx.x % 32 == 0;
  const bool works = consumer.has_rows();
  if (works) consumer.load_queries(memory);
  std::uint32_t phase = 0;
  int stage = 0;
  for (int token = work.first_token; token < work.num_tokens; token += kStepTokens) {
    float scores[64];
    wait_for_phase(&shared.keys.full[stage], phase);
    if (works) consumer.score(memory, memory.stages[stage], scores);
    if (speaks) arrive(&shared.keys.empty[stage]);
    if (works) {
      consumer.hide(token, scores);
      consumer.weigh(scores);
    }
    wait_for_phase(&shared.values.full[stage], phase);
    if (works) consumer.add(memory.stages[stage], scores);
    if (speaks) arrive(&shared.values.empty[stage]);
    if (++stage == kSteps) stage = 0, phase ^= 1;
  }
  if (!works) return;
  if (gridDim.z == 1)
    consumer.store();
  else
    consumer.store_share(item);
}

__device__ void produce(const AttentionArgs& args, const Work& work, WideMemory& memory, Shared& shared) {
  Producer producer(args, work);
  std::uint32_t phase = 1;
  int stage = 0;
  for (int token = work.first_token; token < work.num_tokens; token += kStepTokens) {
    const bool whole = token + kStepTokens <= work.num_tokens;
    producer.look_up(token);
    wait_for_phase(&shared.keys.empty[stage], phase);
    if (whole)
      producer.copy_keys<true>(token, memory.stages[stage]);
    else
      producer.copy_keys<false>(token, memory.stages[stage]);
    arrive_after_copies(&shared.keys.full[stage]);
    wait_for_phase(&shared.values.empty[stage], phase);
    if (whole)
      producer.copy_values<true>(token, memory.stages[stage]);
    else
      producer.copy_values<false>(token, memory.stages[stage]);
    arrive_after_copies(&shared.values.full[stage]);
    if (++stage == kSteps) stage = 0, phase ^= 1;
  }
}

#endif

__global__ void __launch_bounds__(kWideThreads, 1) wide_kernel(AttentionArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char bytes[];
  __shared__ Shared shared;
  auto& memory = *reinterpret_cast<WideMemory*>((reinterpret_cast<std::uintptr_t>(bytes) + 1023) &
                                                ~std::uintptr_t{1023});
  const int index = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // tiles with more tokens start first
  const AttentionItem item = args.step.tile_items[index];
  release_next();
  if (item.part % kConsumers != 0) return;
  if (threadIdx.x == 0) {
    for (Ready* ready : {&shared.keys, &shared.values}) {
      for (int i = 0; i < kSteps; ++i) {
        make_barrier(&ready->full[i], kGroupThreads);
        make_barrier(&ready->empty[i], kConsumers * 4);
      }
    }
    publish_barriers();
  }
  __syncthreads();
  wait_for_previous();
  const Work work(args, item);
  if (threadIdx.x < kGroupThreads) {
    leave_registers<40>();
    produce(args, work, memory, shared);
  } else {
    take_registers<232>();
    consume(args, work, index, memory, shared);
  }
#endif
}

// Combines the shares of each row, one row for each warp. The grid is [tiles, KV heads].
__global__ void combine_kernel(AttentionArgs args, int shares) {
  release_next();
  wait_for_previous();
  const AttentionItem item = args.step.tile_items[blockIdx.x];
  const int lane = threadIdx.x % 32;
  const int group = args.num_heads / args.num_kv_heads;
  const std::int64_t tile = (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * shares;
  for (int row = threadIdx.x / 32; row < kTileRows; row += blockDim.x / 32) {
    const int index = item.part * kTileRows + row;
    if (index >= item.slice.num_rows * group) return;
    const float* from = args.tile_partials + (tile * kTileRows + row) * kTilePartialRow;
    constexpr std::int64_t kApart = std::int64_t{kTileRows} * kTilePartialRow;
    float top = -kInf;
    for (int i = 0; i < shares; ++i) top = fmaxf(top, from[i * kApart]);
    float total = 0;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int i = 0; i < shares; ++i) {
      const float* share = from + i * kApart;
      const float weight = exp2f(share[0] - top);
      const float4 more = *reinterpret_cast<const float4*>(share + 4 + 4 * lane);
      total += weight * share[1];
      sum.x += weight * more.x, sum.y += weight * more.y, sum.z += weight * more.z, sum.w += weight * more.w;
    }
    const std::int64_t out_row = item.slice.first_row + index / group;
    Bf16* out = static_cast<Bf16*>(args.out) +
                (out_row * args.num_heads + blockIdx.y * group + index % group) * kDim + 4 * lane;
    *reinterpret_cast<uint2*>(out) =
        make_uint2(pack2(sum.x / total, sum.y / total), pack2(sum.z / total, sum.w / total));
  }
}

// How many thread blocks share a tile's tokens: as many as the multiprocessors have room for.
int num_shares(const AttentionArgs& args) {
  if (args.tile_partials == nullptr) return 1;
  constexpr int kMinTokens = 4 * kStepTokens;  // the fewest tokens in a share
  const int items = args.step.num_tile_items * args.num_kv_heads;
  const int blocks = (args.step.num_tile_items + 1) / kConsumers * args.num_kv_heads;
  int most = num_multiprocessors() / blocks;
  if (most > args.step.longest_tile / kMinTokens) most = args.step.longest_tile / kMinTokens;
  if (most > kMaxSharedTiles / items) most = kMaxSharedTiles / items;
  return most < 1 ? 1 : most;
}

}  // namespace

bool wide_attention_takes(const AttentionArgs& args) {
  return architecture() == 90 && args.head_dim == kDim && args.kv == KvNumbers::same && args.softcap == 0;
}

void attend_rows_wide(StreamHandle stream, const AttentionArgs& args) {
  constexpr int kBytes = sizeof(WideMemory) + 1024;
  const int shares = num_shares(args);
  const dim3 blocks(args.step.num_tile_items, args.num_kv_heads, shares);
  launch_large<wide_kernel>({blocks, kWideThreads, kBytes}, stream, args);
  if (shares == 1) return;
  launch_early(combine_kernel, {dim3(args.step.num_tile_items, args.num_kv_heads), 256, 0}, stream, args,
               shares);
}

}  // namespace kvasir::ops::cuda

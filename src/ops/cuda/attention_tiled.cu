#include "ops/cuda/attention.cuh"
#include "ops/cuda/tiles.cuh"

namespace kvasir::ops::cuda {
namespace {

constexpr int kWarps = kTileRows / 16;
constexpr int kThreads = kWarps * 32;

// Keys and values of kTokens tokens of one KV head in shared memory, in chunks of 16 bytes. A chunk's place
// depends on its row, so that the chunks of one column in eight rows are in different banks.
template <int kDim, int kTokens>
struct Stage {
  uint4 keys[kTokens][kDim / 8];
  uint4 values[kTokens / kBlockTokens][kDim][2];

  __device__ static int key_place(int token, int chunk) { return chunk ^ (token & 7); }
  __device__ static int value_place(int dim, int chunk) { return chunk ^ ((dim >> 2) & 1); }
};

// The KV blocks of the tile's sequence, and how many tokens they hold.
template <class Kv>
struct Source {
  const Kv* k;
  const Kv* v;
  const std::int32_t* blocks;
  int num_tokens;
  std::int64_t block_elems;
};

// Begins to fetch the tokens from `first` on. Tokens past the end become zeros.
template <int kDim, int kTokens>
__device__ void fetch(const Source<Bf16>& source, int first, Stage<kDim, kTokens>& stage) {
  constexpr int kChunks = kDim / 8;
  for (int i = threadIdx.x; i < kTokens * kChunks; i += kThreads) {
    const int token = i / kChunks;
    const int chunk = i % kChunks;
    const bool there = first + token < source.num_tokens;
    const std::int64_t block = there ? source.blocks[(first + token) / kBlockTokens] : 0;
    const Bf16* from = source.k + block * source.block_elems + (token % kBlockTokens) * kDim + chunk * 8;
    copy_async(&stage.keys[token][stage.key_place(token, chunk)], from, there ? 16 : 0);
  }
  for (int i = threadIdx.x; i < kTokens * kChunks; i += kThreads) {
    const int group = i / (2 * kDim);
    const int dim = i % (2 * kDim) / 2;
    const int chunk = i % 2;
    const int token = first + group * kBlockTokens + chunk * 8;
    const int count = min(8, max(0, source.num_tokens - token));
    const std::int64_t block = count > 0 ? source.blocks[token / kBlockTokens] : 0;
    const Bf16* from = source.v + block * source.block_elems + dim * kBlockTokens + chunk * 8;
    copy_async(&stage.values[group][dim][stage.value_place(dim, chunk)], from, 2 * count);
  }
  end_copies();
}

// Converts the first `count` of eight numbers of e4m3 to half precision, divided by kWidened; the others are
// zeros.
__device__ inline uint4 widened(const E4m3* from, int count) {
  if (count <= 0) return make_uint4(0, 0, 0, 0);
  uint2 words = *reinterpret_cast<const uint2*>(from);
  if (count < 4) words.x &= (1u << (8 * count)) - 1;
  if (count < 8) words.y &= count <= 4 ? 0 : (1u << (8 * (count - 4))) - 1;
  const uint2 first = widen_e4m3(words.x);
  const uint2 last = widen_e4m3(words.y);
  const uint2 low = regrouped(first.y, first.x);
  const uint2 high = regrouped(last.y, last.x);
  return make_uint4(low.x, low.y, high.x, high.y);
}

// As above, through registers, where the numbers are widened.
template <int kDim, int kTokens>
__device__ void fetch(const Source<E4m3>& source, int first, Stage<kDim, kTokens>& stage) {
  constexpr int kChunks = kDim / 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < kTokens * kChunks; i += kThreads) {
    const int token = i / kChunks;
    const int chunk = i % kChunks;
    const bool there = first + token < source.num_tokens;
    const std::int64_t block = there ? source.blocks[(first + token) / kBlockTokens] : 0;
    const E4m3* from = source.k + block * source.block_elems + (token % kBlockTokens) * kDim + chunk * 8;
    stage.keys[token][stage.key_place(token, chunk)] = widened(from, there ? 8 : 0);
  }
#pragma unroll 4
  for (int i = threadIdx.x; i < kTokens * kChunks; i += kThreads) {
    const int group = i / (2 * kDim);
    const int dim = i % (2 * kDim) / 2;
    const int chunk = i % 2;
    const int token = first + group * kBlockTokens + chunk * 8;
    const int count = min(8, max(0, source.num_tokens - token));
    const std::int64_t block = count > 0 ? source.blocks[token / kBlockTokens] : 0;
    const E4m3* from = source.v + block * source.block_elems + dim * kBlockTokens + chunk * 8;
    stage.values[group][dim][stage.value_place(dim, chunk)] = widened(from, count);
  }
}

// Each warp takes 16 of the tile's (row, head) pairs, and all tokens.
template <int kDim, int kTokens, class Fragments>
__global__ void __launch_bounds__(kThreads) tile_kernel(AttentionArgs args) {
  using Kv = typename Fragments::Kv;
  release_next();
  wait_for_previous();
  extern __shared__ __align__(128) unsigned char memory[];
  auto* stages = reinterpret_cast<Stage<kDim, kTokens>*>(memory);
  // The last tiles of a slice see the most tokens, so they start first.
  const AttentionItem item = args.step.tile_items[gridDim.x - 1 - blockIdx.x];
  const SliceView& slice = item.slice;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int group = args.num_heads / args.num_kv_heads;
  const int first_index = item.part * kTileRows;
  const int num_indices = slice.num_rows * group;
  const int last_row = (min(first_index + kTileRows, num_indices) - 1) / group;
  const int num_tokens = slice.num_computed + last_row + 1;
  const int first_seen = args.sliding_window > 0
                             ? max(0, slice.num_computed + first_index / group - args.sliding_window + 1)
                             : 0;
  const std::int64_t head_elems = kDim * kBlockTokens;
  const Source<Kv> source{static_cast<const Kv*>(args.k) + blockIdx.y * head_elems,
                          static_cast<const Kv*>(args.v) + blockIdx.y * head_elems,
                          args.step.blocks + slice.first_block, num_tokens, args.num_kv_heads * head_elems};

  int token = first_seen / kTokens * kTokens;
  fetch(source, token, stages[0]);

  const Bf16* queries[2];  // for the lane's row and the row eight below
  int position[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int index = first_index + warp * 16 + lane / 4 + 8 * half;
    const int row = index / group;
    position[half] = index < num_indices ? slice.num_computed + row : -1;
    queries[half] = static_cast<const Bf16*>(args.q) + (slice.first_row + row) * args.q_stride +
                    (blockIdx.y * group + index % group) * kDim;
  }
  uint32_t q[kDim / 16][4];
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Bf16* from = queries[j % 2] + 16 * i + 8 * (j / 2) + 2 * (lane % 4);
      q[i][j] = position[j % 2] >= 0 ? Fragments::query(*reinterpret_cast<const uint32_t*>(from)) : 0;
    }
  }

  RunningSoftmax softmax;
  float sums[kDim / 8][4] = {};
  int current = 0;
  for (; token < num_tokens; token += kTokens, current ^= 1) {
    if (token + kTokens < num_tokens) {
      fetch(source, token + kTokens, stages[current ^ 1]);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    const Stage<kDim, kTokens>& stage = stages[current];
    const int quarter = lane / 8;  // the matrix whose row this lane addresses
    float scores[kTokens / 8][4] = {};
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
      for (int n = 0; n < kTokens / 8; n += 2) {
        const int row = 8 * n + 8 * (quarter / 2) + lane % 8;
        uint32_t b[4];
        load_matrices(&stage.keys[row][stage.key_place(row, 2 * i + quarter % 2)], b);
        Fragments::multiply(scores[n], q[i], b[0], b[1]);
        Fragments::multiply(scores[n + 1], q[i], b[2], b[3]);
      }
    }
#pragma unroll
    for (int n = 0; n < kTokens / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int at = token + 8 * n + 2 * (lane % 4) + j % 2;
        const int own = position[j / 2];
        const bool seen = at <= own && (args.sliding_window == 0 || at > own - args.sliding_window);
        scores[n][j] = seen ? scaled(args, scores[n][j] * Fragments::kFactor) : -kInf;
      }
    }
    const float2 keep = softmax.take(scores);
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i)
      sums[i][0] *= keep.x, sums[i][1] *= keep.x, sums[i][2] *= keep.y, sums[i][3] *= keep.y;
#pragma unroll
    for (int s = 0; s < kTokens / 16; ++s) {
      const uint32_t weights[4] = {Fragments::pack(scores[2 * s][0], scores[2 * s][1]),
                                   Fragments::pack(scores[2 * s][2], scores[2 * s][3]),
                                   Fragments::pack(scores[2 * s + 1][0], scores[2 * s + 1][1]),
                                   Fragments::pack(scores[2 * s + 1][2], scores[2 * s + 1][3])};
#pragma unroll
      for (int i = 0; i < kDim / 8; i += 2) {
        const int dim = 8 * i + 8 * (quarter / 2) + lane % 8;
        uint32_t b[4];
        load_matrices(&stage.values[s][dim][stage.value_place(dim, quarter % 2)], b);
        Fragments::multiply(sums[i], weights, b[0], b[1]);
        Fragments::multiply(sums[i + 1], weights, b[2], b[3]);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float factor = Fragments::kFactor / quad_sum(softmax.total[half]);
    if (position[half] < 0) continue;
    const int index = first_index + warp * 16 + lane / 4 + 8 * half;
    Bf16* out = static_cast<Bf16*>(args.out) +
                ((slice.first_row + index / group) * static_cast<std::int64_t>(args.num_heads) +
                 blockIdx.y * group + index % group) *
                    kDim +
                2 * (lane % 4);
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i)
      *reinterpret_cast<uint32_t*>(out + 8 * i) =
          pack2(sums[i][2 * half] * factor, sums[i][2 * half + 1] * factor);
  }
}

template <int kDim, int kTokens, class Fragments>
void launch(StreamHandle stream, const AttentionArgs& args) {
  constexpr int kBytes = 2 * sizeof(Stage<kDim, kTokens>);
  const dim3 blocks(args.step.num_tile_items, args.num_kv_heads);
  launch_large<tile_kernel<kDim, kTokens, Fragments>>({blocks, kThreads, kBytes}, stream, args);
}

}  // namespace

void attend_rows_tiled(StreamHandle stream, const AttentionArgs& args) {
  if (args.step.num_tile_items == 0) return;
  if (wide_attention_takes(args)) return attend_rows_wide(stream, args);
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch<64, 64, Bf16Fragments>(stream, args);
  if (args.head_dim == 64 && quantized) launch<64, 64, E4m3Fragments>(stream, args);
  if (args.head_dim == 128 && !quantized) launch<128, 64, Bf16Fragments>(stream, args);
  if (args.head_dim == 128 && quantized) launch<128, 64, E4m3Fragments>(stream, args);
  if (args.head_dim == 256) launch<256, 32, Bf16Fragments>(stream, args);
}

}  // namespace kvasir::ops::cuda

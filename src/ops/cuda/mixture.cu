#include "ops/cuda/activated.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/mixture.h"
#include "ops/cuda/mixture_wide.h"
#include "ops/cuda/tiles.cuh"

namespace kvasir::ops::cuda {
namespace {

struct Pick {
  float rank;
  int expert;
};

// Returns the pick of higher rank; of equals, the one with the lower expert.
__device__ Pick better(Pick a, Pick b) {
  if (a.rank != b.rank) return a.rank > b.rank ? a : b;
  return a.expert < b.expert ? a : b;
}

__device__ Pick best_of_warp(Pick pick) {
#pragma unroll
  for (int step = 16; step > 0; step >>= 1)
    pick = better(pick, {__shfl_xor_sync(0xffffffffu, pick.rank, step),
                         __shfl_xor_sync(0xffffffffu, pick.expert, step)});
  return pick;
}

// Computes the scores of a row. The lane has expert `lane` and every 32nd expert after it.
template <int kLaneExperts>
__device__ void score_row(const RouteRowsArgs& args, const float* logits, int lane,
                          float (&scores)[kLaneExperts]) {
  float top = -kInf;
#pragma unroll
  for (int i = 0; i < kLaneExperts; ++i) {
    const int e = lane + 32 * i;
    scores[i] = e < args.num_experts ? logits[e] : -kInf;
    top = fmaxf(top, scores[i]);
  }
  if (args.score == RouterScore::sigmoid) {
#pragma unroll
    for (float& score : scores) score = 1 / (1 + expf(-score));
    return;
  }
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float sum = 0;
#pragma unroll
  for (float& score : scores) sum += score = expf(score - top);
  sum = warp_sum(sum);
#pragma unroll
  for (float& score : scores) score /= sum;
}

// One warp picks the experts of one row.
template <int kLaneExperts>
__global__ void route_kernel(RouteRowsArgs args) {
  release_next();
  wait_for_previous();
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= args.rows) return;
  float scores[kLaneExperts];
  score_row(args, args.logits + static_cast<std::int64_t>(row) * args.num_experts, lane, scores);
  float ranks[kLaneExperts];
#pragma unroll
  for (int i = 0; i < kLaneExperts; ++i) {
    const int e = lane + 32 * i;
    ranks[i] = -kInf;
    if (e >= args.num_experts) continue;
    const float rank = scores[i] + (args.selection_bias != nullptr ? args.selection_bias[e] : 0);
    ranks[i] = rank == rank ? rank : -kInf;  // a NaN does not equal itself
  }
  float own_weight = 0;  // the weight of the lane's pick
  int own_expert = 0;
  std::uint32_t taken = 0;  // a bit for each of the lane's experts
  for (int n = 0; n < args.num_used; ++n) {
    Pick pick{-kInf, args.num_experts};
    float score = 0;
#pragma unroll
    for (int i = 0; i < kLaneExperts; ++i) {
      const int e = lane + 32 * i;
      if (e >= args.num_experts || (taken >> i & 1) != 0) continue;
      if (ranks[i] <= pick.rank && pick.expert < args.num_experts) continue;
      pick = {ranks[i], e};
      score = scores[i];
    }
    const Pick best = best_of_warp(pick);
    score = __shfl_sync(0xffffffffu, score, best.expert % 32);
    if (best.expert % 32 == lane) taken |= 1u << (best.expert / 32);
    if (lane == n) own_weight = score, own_expert = best.expert;
  }
  const bool renormalized = args.weights_are == RouteRowsArgs::Weights::renormalized;
  const float sum = warp_sum(own_weight);
  const float factor = renormalized ? args.scale / (sum + 1e-20f) : args.scale;
  if (lane >= args.num_used) return;
  args.experts[row * args.num_used + lane] = own_expert;
  args.weights[row * args.num_used + lane] = own_weight * factor;
}

// Runs as one thread block. The slots of an expert are in any order, since a slot's result does not depend on
// it.
__global__ void __launch_bounds__(1024) assign_kernel(AssignSlotsArgs args) {
  __shared__ int next[kMaxRoutedExperts + 1];
  release_next();
  wait_for_previous();
  for (int e = threadIdx.x; e <= args.num_experts; e += blockDim.x) next[e] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < args.num_slots; i += blockDim.x) atomicAdd(&next[args.experts[i]], 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    int before = 0;
    for (int e = threadIdx.x; e - static_cast<int>(threadIdx.x) <= args.num_experts; e += 32) {
      const int own = e < args.num_experts ? next[e] : 0;
      int sum = own;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, sum, step);
        if (threadIdx.x >= step) sum += other;
      }
      if (e <= args.num_experts) args.first_slots[e] = next[e] = before + sum - own;
      before += __shfl_sync(0xffffffffu, sum, 31);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < args.num_slots; i += blockDim.x) {
    const int slot = atomicAdd(&next[args.experts[i]], 1);
    args.slots[i] = slot;
    args.slot_rows[slot] = i / args.num_used;
  }
}

constexpr int kTileChunks = 8;  // chunks of a row, with 64 numbers in all
constexpr int kStages = 4;

// A tile with more slots also has more rows of the matrix, because each tile reads the numbers of its slots
// again.
template <int slots, bool gated>
struct Kind {
  static constexpr int kSlots = slots;
  static constexpr bool kGated = gated;
  static constexpr int kWarps = slots == 16 ? 4 : 8;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRows = kWarps * 16;                // rows of a matrix in a tile
  static constexpr int kOuts = gated ? kRows / 2 : kRows;  // outputs of a slot in a tile
};

// A chunk's place depends on its row, so that the chunks of one column in eight rows are in different banks.
__device__ inline int place(int row, int chunk) {
  return chunk ^ (row & 7);
}

template <class Own>
struct Stage {
  uint4 w[Own::kRows][kTileChunks];
  uint4 x[Own::kSlots][kTileChunks];
};

// Matrix rows are the rows of a product, and slots its columns, so that few slots need few columns.
template <class Own>
struct Tile {
  static constexpr int kSlots = Own::kSlots;
  static constexpr bool kGated = Own::kGated;
  static constexpr int kTileRows = Own::kRows;
  const ExpertProductArgs& args;
  const Bf16* w;
  const int first_row;
  int first_slot = 0;
  int last_slot = 0;

  // A thread copies one chunk of every kApart-th row, always the same chunk.
  static constexpr int kApart = Own::kThreads / kTileChunks;
  static constexpr int kWRows = kTileRows / kApart;
  static constexpr int kXRows = kSlots / kApart;
  static_assert(kApart % 8 == 0);  // so the chunk's place is the same in all of a thread's rows
  const int copied_chunk = threadIdx.x % kTileChunks;
  const int copied_row = threadIdx.x / kTileChunks;
  const Bf16* w_rows[kWRows];
  const Bf16* x_rows[kXRows];
  bool w_there[kWRows];
  bool x_there[kXRows];

  __device__ Tile(const ExpertProductArgs& a, int expert)
      : args(a),
        w(static_cast<const Bf16*>(a.w[expert])),
        first_row(static_cast<int>(blockIdx.x) * Own::kOuts) {}

  // If gated, the second half of a tile holds the partners of the first half.
  __device__ int row_of(int row) const {
    return kGated && row >= kTileRows / 2 ? first_row + row - kTileRows / 2 : first_row + row;
  }

  // Begins with up to kSlots slots from `slot` on. Computes once where the thread's chunks come from.
  __device__ void begin(int slot, int end) {
    first_slot = slot;
    last_slot = min(end, slot + kSlots);
#pragma unroll
    for (int i = 0; i < kWRows; ++i) {
      const int row = copied_row + i * kApart;
      const std::int64_t at = row_of(row) + (kGated && row >= kTileRows / 2 ? args.out : 0);
      w_there[i] = row_of(row) < args.out;
      w_rows[i] = w + (w_there[i] ? at * args.cols : 0) + copied_chunk * 8;
    }
#pragma unroll
    for (int i = 0; i < kXRows; ++i) {
      const int own = first_slot + copied_row + i * kApart;
      x_there[i] = own < last_slot;
      const std::int64_t at = !x_there[i] ? 0 : args.x_rows != nullptr ? args.x_rows[own] : own;
      x_rows[i] = static_cast<const Bf16*>(args.x) + at * args.cols + copied_chunk * 8;
    }
  }

  __device__ void fetch(int step, Stage<Own>& stage) const {
    const int col = step * kTileChunks * 8;
    const bool in_row = col + copied_chunk * 8 < args.cols;
    const int offset = in_row ? col : 0;
    const int spot = place(copied_row, copied_chunk);
#pragma unroll
    for (int i = 0; i < kWRows; ++i)
      copy_async(&stage.w[copied_row + i * kApart][spot], w_rows[i] + offset, in_row && w_there[i] ? 16 : 0);
#pragma unroll
    for (int i = 0; i < kXRows; ++i)
      copy_async(&stage.x[copied_row + i * kApart][spot], x_rows[i] + offset, in_row && x_there[i] ? 16 : 0);
    end_copies();
  }

  __device__ void multiply(const Stage<Own>& stage, float (&sums)[kSlots / 8][4]) const {
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x / 32 * 16 + lane % 16;
#pragma unroll
    for (int k = 0; k < kTileChunks / 2; ++k) {
      uint32_t a[4];
      load_matrices(&stage.w[row][place(row, 2 * k + lane / 16)], a);
#pragma unroll
      for (int n = 0; n < kSlots / 16; ++n) {
        const int slot = 16 * n + lane / 16 * 8 + lane % 8;
        uint32_t b[4];
        load_matrices(&stage.x[slot][place(slot, 2 * k + lane / 8 % 2)], b);
        multiply_bf16(sums[2 * n], a, b[0], b[1]);
        multiply_bf16(sums[2 * n + 1], a, b[2], b[3]);
      }
    }
  }

  // sums[n][2 * half + e] is for row 16 * warp + lane / 4 + 8 * half and slot 8 * n + 2 * (lane % 4) + e.
  __device__ void store(const float (&sums)[kSlots / 8][4], float* partners) const {
    const int lane = threadIdx.x % 32;
    const int tile_row = threadIdx.x / 32 * 16 + lane / 4;
    const auto each = [&](auto f) {
#pragma unroll
      for (int i = 0; i < kSlots / 8 * 4; ++i)
        f(tile_row + i % 4 / 2 * 8, i / 4 * 8 + 2 * (lane % 4) + i % 2, sums[i / 4][i % 4]);
    };
    if constexpr (kGated) {
      if (tile_row >= kTileRows / 2)
        each([&](int row, int slot, float sum) { partners[(row - kTileRows / 2) * kSlots + slot] = sum; });
      __syncthreads();
      if (tile_row >= kTileRows / 2) return;
    }
    each([&](int row, int slot, float sum) {
      if (row_of(row) >= args.out || first_slot + slot >= last_slot) return;
      if constexpr (kGated) sum = activated(args.activation, sum) * partners[row * kSlots + slot];
      static_cast<Bf16*>(args.y)[static_cast<std::int64_t>(first_slot + slot) * args.out + row_of(row)] =
          from_float<Bf16>(sum);
    });
  }
};

template <class Own>
__global__ void __launch_bounds__(Own::kThreads) expert_kernel(ExpertProductArgs args) {
  constexpr int kSlots = Own::kSlots;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* stages = reinterpret_cast<Stage<Own>*>(memory);
  release_next();
  wait_for_previous();
  Tile<Own> tile(args, blockIdx.y);
  const int end = args.first_slots[blockIdx.y + 1];
  const int num_steps = (args.cols + kTileChunks * 8 - 1) / (kTileChunks * 8);
  for (int slot = args.first_slots[blockIdx.y]; slot < end; slot += kSlots) {
    tile.begin(slot, end);
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < num_steps)
        tile.fetch(i, stages[i]);
      else
        end_copies();
    }
    float sums[kSlots / 8][4] = {};
    for (int step = 0; step < num_steps; ++step) {
      wait_for_copies<kStages - 2>();
      __syncthreads();
      const int next = step + kStages - 1;
      if (next < num_steps)
        tile.fetch(next, stages[next % kStages]);
      else
        end_copies();
      tile.multiply(stages[step % kStages], sums);
    }
    __syncthreads();
    tile.store(sums, reinterpret_cast<float*>(memory));
    __syncthreads();
  }
}

template <int slots>
void launch(StreamHandle stream, const ExpertProductArgs& args) {
  const auto start = [&]<class Own>(Own) {
    constexpr int kBytes = kStages * sizeof(Stage<Own>);
    const dim3 blocks(ceil_div(args.out, Own::kOuts), args.num_experts);
    launch_large<expert_kernel<Own>>({blocks, Own::kThreads, kBytes}, stream, args);
  };
  if (args.form == ExpertProductArgs::Form::gated) return start(Kind<slots, true>{});
  start(Kind<slots, false>{});
}

}  // namespace

void route_rows(StreamHandle stream, const RouteRowsArgs& args) {
  if (args.rows == 0) return;
  const LaunchShape shape{dim3(ceil_div(args.rows, 4)), 128, 0};
  if (args.num_experts <= 128) return launch_early(route_kernel<128 / 32>, shape, stream, args);
  launch_early(route_kernel<kMaxRoutedExperts / 32>, shape, stream, args);
}

void assign_slots(StreamHandle stream, const AssignSlotsArgs& args) {
  if (args.num_slots > 0) launch_early(assign_kernel, {dim3(1), 1024, 0}, stream, args);
}

void multiply_experts(StreamHandle stream, const ExpertProductArgs& args) {
  if (args.num_slots == 0) return;
  if (wide_experts_take(args)) return multiply_experts_wide(stream, args);
  // One round should cover an expert's slots if they are spread evenly, since each further round reads the
  // matrix again.
  const int mean = args.num_slots / args.num_experts;
  if (mean > 24) return launch<64>(stream, args);
  if (mean > 8) return launch<32>(stream, args);
  launch<16>(stream, args);
}

}  // namespace kvasir::ops::cuda

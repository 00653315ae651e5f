#include "ops/cuda/activated.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/mixture_wide.h"
#include "ops/cuda/tiles.cuh"
#include "ops/cuda/warpgroup.cuh"

// A thread block stays on its multiprocessor and takes one tile after another: 128 slots of an expert by 256
// rows of its matrix. One warpgroup copies steps of 64 columns, always a few ahead, even into the next tile.
// Two warpgroups multiply 64 slots each.
namespace kvasir::ops::cuda {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kConsumers = 2;
constexpr int kWideThreads = (1 + kConsumers) * kGroupThreads;
constexpr int kSlotTile = kConsumers * 64;
// Matrix rows that one product takes. If gated, the second half of a tile holds the partners of the first
// half.
constexpr int kHalf = 128;
constexpr int kChunks = 8;  // chunks of a row in a step
constexpr int kStepCols = kChunks * 8;
constexpr int kSteps = 4;  // steps in shared memory or under way

struct WideStage {
  uint4 x[kSlotTile][kChunks];
  uint4 w[2][kHalf][kChunks];
};

struct Shared {
  Barrier full[kSteps];
  Barrier empty[kSteps];
  int first_tiles[kMaxRoutedExperts + 1];  // the first tile of each expert's slots
};

struct WideTile {
  int expert, first_slot, last_slot, first_out;
};

// The stage of the ring where a warpgroup is.
struct Turn {
  int stage = 0;
  std::uint32_t phase = 0;
  __device__ void next() {
    if (++stage < kSteps) return;
    stage = 0;
    phase ^= 1;
  }
};

// Only the first warp calls this.
__device__ void count_tiles(const ExpertProductArgs& args, int* first_tiles) {
  const auto lane = static_cast<int>(threadIdx.x);
  int before = 0;
  for (int first = 0; first <= args.num_experts; first += 32) {
    const int e = first + lane;
    const int own = e < args.num_experts
                        ? (args.first_slots[e + 1] - args.first_slots[e] + kSlotTile - 1) / kSlotTile
                        : 0;
    int sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    if (e <= args.num_experts) first_tiles[e] = before + sum - own;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
}

// Finds the tile with this number. Tiles with neighbouring numbers share their slots.
__device__ WideTile find_tile(const ExpertProductArgs& args, const int* first_tiles, int number,
                              int out_tiles) {
  const int slot_tile = number / out_tiles;
  int low = 0;
  int high = args.num_experts;  // first_tiles[low] <= slot_tile < first_tiles[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (first_tiles[middle] <= slot_tile ? low : high) = middle;
  }
  const int first = args.first_slots[low] + (slot_tile - first_tiles[low]) * kSlotTile;
  const int outs = args.form == ExpertProductArgs::Form::gated ? kHalf : 2 * kHalf;
  return {low, first, min(first + kSlotTile, args.first_slots[low + 1]), number % out_tiles * outs};
}

// A thread copies the same chunk of every sixteenth row.
struct Producer {
  static constexpr int kApart = kGroupThreads / kChunks;
  static constexpr int kXRows = kSlotTile / kApart;
  static constexpr int kWRows = 2 * kHalf / kApart;
  const ExpertProductArgs& args;
  const int chunk = threadIdx.x % kChunks;
  const int row = threadIdx.x % kGroupThreads / kChunks;
  const uint4* x[kXRows];
  const uint4* w[2];          // one for each half of the tile
  std::uint32_t x_there = 0;  // one bit for each of the rows that exist
  std::uint32_t w_there = 0;

  __device__ explicit Producer(const ExpertProductArgs& a) : args(a) {}

  __device__ void begin(const WideTile& tile) {
    const bool gated = args.form == ExpertProductArgs::Form::gated;
    const std::int64_t row_chunks = args.cols / 8;
    x_there = w_there = 0;
#pragma unroll
    for (int i = 0; i < kXRows; ++i) {
      const int slot = tile.first_slot + row + i * kApart;
      const bool there = slot < tile.last_slot;
      const std::int64_t x_row = !there ? 0 : args.x_rows != nullptr ? args.x_rows[slot] : slot;
      x[i] = static_cast<const uint4*>(args.x) + x_row * row_chunks + chunk;
      x_there |= static_cast<std::uint32_t>(there) << i;
    }
#pragma unroll
    for (int i = 0; i < kWRows; ++i) {
      const int in_half = i * kApart % kHalf + row;
      const int out = tile.first_out + in_half + (!gated && i * kApart >= kHalf ? kHalf : 0);
      w_there |= static_cast<std::uint32_t>(out < args.out) << i;
    }
    w[0] = static_cast<const uint4*>(args.w[tile.expert]) + (tile.first_out + row) * row_chunks + chunk;
    w[1] = w[0] + (gated ? args.out : kHalf) * row_chunks;
  }

  __device__ void fetch(int step, WideStage& stage) {
    const bool in_row = step * kChunks + chunk < args.cols / 8;
    if (in_row && x_there == (1u << kXRows) - 1 && w_there == (1u << kWRows) - 1)
      copy<true>(in_row, stage);
    else
      copy<false>(in_row, stage);
#pragma unroll
    for (const uint4*& from : x) from += kChunks;
    w[0] += kChunks;
    w[1] += kChunks;
  }

 private:
  template <bool kWhole>
  __device__ void copy(bool in_row, WideStage& stage) const {
    const int spot = chunk ^ (row % 8);
    const std::int64_t apart = static_cast<std::int64_t>(args.cols / 8) * kApart;
    const auto* nothing = static_cast<const uint4*>(args.x);
#pragma unroll
    for (int i = 0; i < kXRows; ++i) {
      const bool there = kWhole || (in_row && (x_there >> i & 1) != 0);
      copy_async(&stage.x[row + i * kApart][spot], there ? x[i] : nothing, there ? 16 : 0);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint4* from = w[half];
#pragma unroll
      for (int i = 0; i < kWRows / 2; ++i, from += apart) {
        const bool there = kWhole || (in_row && (w_there >> (half * kWRows / 2 + i) & 1) != 0);
        copy_async(&stage.w[half][row + i * kApart][spot], there ? from : nothing, there ? 16 : 0);
      }
    }
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ void multiply_tile(const WideStage* stages, Shared& shared, int num_steps, Turn& turn,
                              float (&sums)[2][64]) {
  const int group = threadIdx.x / kGroupThreads - 1;
  const bool speaks = threadIdx.x % 32 == 0;
  int before = 0;
  for (int step = 0; step < num_steps; ++step) {
    const WideStage& stage = stages[turn.stage];
    wait_for_phase(&shared.full[turn.stage], turn.phase);
    show_tiles();
    begin_products();
#pragma unroll
    for (int k = 0; k < kStepCols / kTileDepth; ++k) {
      const std::uint64_t x = describe_tile(stage.x[group * 64], k);
      const int adds = step > 0 || k > 0 ? 1 : 0;
      multiply_tiles(sums[0], x, describe_tile(stage.w[0], k), adds);
      multiply_tiles(sums[1], x, describe_tile(stage.w[1], k), adds);
    }
    end_products();
    wait_for_products<1>();
    if (step > 0 && speaks) arrive(&shared.empty[before]);
    before = turn.stage;
    turn.next();
  }
  wait_for_products<0>();
  if (speaks) arrive(&shared.empty[before]);
}
#endif

// As multiply_tile, for a warpgroup without slots: it only keeps step with the producer.
__device__ void pass_tile(Shared& shared, int num_steps, Turn& turn) {
  for (int step = 0; step < num_steps; ++step, turn.next()) {
    wait_for_phase(&shared.full[turn.stage], turn.phase);
    if (threadIdx.x % 32 == 0) arrive(&shared.empty[turn.stage]);
  }
}

// Stores one half of the outputs. `value_of` turns an index into the sums into the number to store.
template <class F>
__device__ void store_half(const ExpertProductArgs& args, const WideTile& tile, int first_out, F value_of) {
  const int lane = threadIdx.x % 32;
  const int first = tile.first_slot + (threadIdx.x / 32 - 4) * 16 + lane / 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int slot = first + 8 * h;
    if (slot >= tile.last_slot) continue;
    auto* y = static_cast<Bf16*>(args.y) + static_cast<std::int64_t>(slot) * args.out;
#pragma unroll
    for (int n = 0; n < kHalf / 8; ++n) {
      const int out = first_out + 8 * n + 2 * (lane % 4);
      const int i = 4 * n + 2 * h;
      if (out < args.out) *reinterpret_cast<std::uint32_t*>(y + out) = pack2(value_of(i), value_of(i + 1));
    }
  }
}

template <Activation kActivation>
__device__ void store_gated(const ExpertProductArgs& args, const WideTile& tile, const float (&sums)[2][64]) {
  store_half(args, tile, tile.first_out,
             [&](int i) { return activated(kActivation, sums[0][i]) * sums[1][i]; });
}

__device__ void store_tile(const ExpertProductArgs& args, const WideTile& tile, const float (&sums)[2][64]) {
  if (args.form == ExpertProductArgs::Form::plain) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_half(args, tile, tile.first_out + half * kHalf, [&](int i) { return sums[half][i]; });
    return;
  }
  switch (args.activation) {
    case Activation::silu:
      return store_gated<Activation::silu>(args, tile, sums);
    case Activation::gelu_tanh:
      return store_gated<Activation::gelu_tanh>(args, tile, sums);
    case Activation::gelu:
      return store_gated<Activation::gelu>(args, tile, sums);
  }
}

__global__ void __launch_bounds__(kWideThreads, 1) wide_experts_kernel(ExpertProductArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char memory[];
  __shared__ Shared shared;
  auto* stages =
      reinterpret_cast<WideStage*>((reinterpret_cast<std::uintptr_t>(memory) + 1023) & ~std::uintptr_t{1023});
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSteps; ++i) {
      make_barrier(&shared.full[i], kGroupThreads);
      make_barrier(&shared.empty[i], kConsumers * 4);
    }
    publish_barriers();
  }
  release_next();
  wait_for_previous();
  if (threadIdx.x < 32) count_tiles(args, shared.first_tiles);
  __syncthreads();
  const int outs = args.form == ExpertProductArgs::Form::gated ? kHalf : 2 * kHalf;
  const int out_tiles = (args.out + outs - 1) / outs;
  const int num_tiles = shared.first_tiles[args.num_experts] * out_tiles;
  const int num_steps = (args.cols + kStepCols - 1) / kStepCols;
  Turn turn;
  if (threadIdx.x < kGroupThreads) {
    leave_registers<56>();
    Producer producer(args);
    for (int number = blockIdx.x; number < num_tiles; number += gridDim.x) {
      producer.begin(find_tile(args, shared.first_tiles, number, out_tiles));
      for (int step = 0; step < num_steps; ++step) {
        wait_for_phase(&shared.empty[turn.stage], turn.phase ^ 1);
        producer.fetch(step, stages[turn.stage]);
        arrive_after_copies(&shared.full[turn.stage]);
        turn.next();
      }
    }
  } else {
    take_registers<224>();
    for (int number = blockIdx.x; number < num_tiles; number += gridDim.x) {
      const WideTile tile = find_tile(args, shared.first_tiles, number, out_tiles);
      if (tile.first_slot + (threadIdx.x / kGroupThreads - 1) * 64 >= tile.last_slot) {
        pass_tile(shared, num_steps, turn);
        continue;
      }
      float sums[2][64];
      multiply_tile(stages, shared, num_steps, turn, sums);
      store_tile(args, tile, sums);
    }
  }
#endif
}

}  // namespace

bool wide_experts_take(const ExpertProductArgs& args) {
  constexpr int kMinSlots = 48;  // mean slots of an expert; measured
  return architecture() == 90 && args.out % 2 == 0 && args.num_slots / args.num_experts > kMinSlots;
}

void multiply_experts_wide(StreamHandle stream, const ExpertProductArgs& args) {
  constexpr int kBytes = kSteps * sizeof(WideStage) + 1024;
  launch_large<wide_experts_kernel>({dim3(num_multiprocessors()), kWideThreads, kBytes}, stream, args);
}

}  // namespace kvasir::ops::cuda

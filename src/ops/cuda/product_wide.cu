#include <cooperative_groups.h>

#include "ops/cuda/activated.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/product_wide.h"
#include "ops/cuda/tensor_map.h"
#include "ops/cuda/warpgroup.cuh"

// A thread block takes a tile of outputs by rows, and a part of the columns. Outputs are the rows of the
// products, since there are always many of them; rows of x are their columns. One thread has the copy engine
// fetch steps of 128 bytes a row, always a few ahead; two warpgroups multiply. Finally the blocks of a
// cluster add up their parts through each other's shared memory.
namespace kvasir::ops::cuda {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kConsumers = 2;
constexpr int kProductThreads = kConsumers * kGroupThreads + 32;
constexpr int kStepBytes = 128;  // bytes of a row in a step
constexpr int kMaxCluster = 8;
constexpr int kSharedBytes = 220 << 10;

// A tile has two halves of outputs; with a gate, the second half holds the partners of the first. In a tile
// that is not tall, both warpgroups take the same kRows rows, and 64 outputs of each half. In a tall one,
// each takes kRows rows of its own, and the same 64 outputs of each half.
template <class N, int rows, bool tall>
struct Tile {
  using Number = N;
  static constexpr int kRows = rows;  // rows of x in one product
  static constexpr bool kTall = tall;
  static constexpr int kTileRows = kTall ? 2 * kRows : kRows;
  static constexpr int kHalf = kTall ? 64 : 128;
  static constexpr int kOuts = 2 * kHalf;
  static constexpr int kStepCols = kStepBytes / sizeof(Number);
  static constexpr int kXBytes = kTileRows * kStepBytes;
  static constexpr int kStageBytes = kOuts * kStepBytes + kXBytes;
  static constexpr int kStages = kSharedBytes / kStageBytes;
  static constexpr int kPitch = kOuts + 4;  // floats from one row of sums to the next, without bank conflicts
  static_assert(kTileRows * kPitch * 4 <= kStages * kStageBytes);
};

template <class T>
struct alignas(1024) Stage {
  unsigned char w[2][T::kHalf * kStepBytes];
  unsigned char x[T::kTileRows * kStepBytes];
};

template <class T>
struct Barriers {
  Barrier full[T::kStages];
  Barrier empty[T::kStages];
};

// Where a thread block is in the grid.
struct Place {
  int part, member;  // the block's place in its cluster
  int first_out;     // first output in y
  int first_row;
  int first_step, num_steps;  // the block's steps along the columns

  template <class T>
  __device__ static Place find(const WideProductArgs& args) {
    const int cluster = args.shape.parts * args.shape.sharers;
    const int rank = static_cast<int>(blockIdx.x) % cluster;
    Place place;
    place.part = rank / args.shape.sharers;
    place.member = rank % args.shape.sharers;
    const int tile = static_cast<int>(blockIdx.x) / cluster * args.shape.sharers + place.member;
    place.first_out = tile * (args.gated ? T::kHalf : T::kOuts);
    place.first_row = static_cast<int>(blockIdx.y) * T::kTileRows;
    const int steps = static_cast<int>((args.product.cols + T::kStepCols - 1) / T::kStepCols);
    place.first_step = steps * place.part / args.shape.parts;
    place.num_steps = steps * (place.part + 1) / args.shape.parts - place.first_step;
    return place;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Copies a tile to the same place in all blocks of the cluster whose bit is set in `blocks`.
__device__ void copy_tile_to(unsigned short blocks, void* to, const CUtensorMap& from, int col, int row,
                             Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, "
      "%3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(&from), "r"(col), "r"(row), "r"(shared_address(barrier)), "h"(blocks)
      : "memory");
}
__device__ void arrive_at(Barrier* barrier, int rank) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

template <class T>
struct Producer {
  const WideProductArgs& args;
  const Place& place;
  const CUtensorMap& w_map;
  const CUtensorMap& x_map;
  Stage<T>* stages;
  Barriers<T>& barriers;

  __device__ void fetch_w(int step, int stage) const {
    const int col = (place.first_step + step) * T::kStepCols;
    const int partner = args.gated ? static_cast<int>(args.product.out / 2) : T::kHalf;
    Barrier* full = &barriers.full[stage];
    expect_bytes(full, T::kStageBytes);
    copy_tile(stages[stage].w[0], w_map, col, place.first_out, full);
    copy_tile(stages[stage].w[1], w_map, col, place.first_out + partner, full);
  }
  __device__ void fetch_x(int step, int stage) const {
    const int col = (place.first_step + step) * T::kStepCols;
    Barrier* full = &barriers.full[stage];
    if (args.shape.sharers == 1) return copy_tile(stages[stage].x, x_map, col, place.first_row, full);
    constexpr int kOwnRows = T::kTileRows / 2;
    const auto both = static_cast<unsigned short>(3u << (place.part * 2));
    copy_tile_to(both, stages[stage].x + place.member * kOwnRows * kStepBytes, x_map, col,
                 place.first_row + place.member * kOwnRows, full);
  }
  __device__ void run() const {
    const int ahead = min(T::kStages, place.num_steps);
    if (args.product.w_is_fresh) wait_for_previous();
    for (int i = 0; i < ahead; ++i) fetch_w(i, i);
    wait_for_previous();
    for (int i = 0; i < ahead; ++i) fetch_x(i, i);
    int stage = 0;
    std::uint32_t phase = 0;
    for (int i = ahead; i < place.num_steps; ++i) {
      wait_for_phase(&barriers.empty[stage], phase);
      fetch_w(i, stage);
      fetch_x(i, stage);
      if (++stage < T::kStages) continue;
      stage = 0;
      phase ^= 1;
    }
  }
};

template <class T>
__device__ void release_stage(const WideProductArgs& args, const Place& place, Barrier* empty) {
  if (threadIdx.x % 32 != 0) return;
  if (args.shape.sharers == 1) return arrive(empty);
  arrive_at(empty, place.part * 2);
  arrive_at(empty, place.part * 2 + 1);
}

template <class T>
__device__ void multiply(const WideProductArgs& args, const Place& place, const Stage<T>* stages,
                         Barriers<T>& barriers, float (&sums)[2][T::kRows / 2]) {
  const int group = threadIdx.x / kGroupThreads;
  const int w_offset = T::kTall ? 0 : group * 64 * kStepBytes;
  const int x_offset = T::kTall ? group * T::kRows * kStepBytes : 0;
  int stage = 0;
  std::uint32_t phase = 0;
  Barrier* before = nullptr;
  for (int step = 0; step < place.num_steps; ++step) {
    wait_for_phase(&barriers.full[stage], phase);
    begin_products();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::uint64_t x = describe_tile(stages[stage].x + x_offset, k);
      const int adds = step > 0 || k > 0 ? 1 : 0;
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiply_tiles_of<typename T::Number, T::kRows>(
            sums[half], describe_tile(stages[stage].w[half] + w_offset, k), x, adds);
    }
    end_products();
    wait_for_products<1>();
    if (before != nullptr) release_stage<T>(args, place, before);
    before = &barriers.empty[stage];
    if (++stage < T::kStages) continue;
    stage = 0;
    phase ^= 1;
  }
  wait_for_products<0>();
}

// Stores the sums as [row, output], with rows T::kPitch numbers apart.
template <class T>
__device__ void put_sums(const float (&sums)[2][T::kRows / 2], float* tile) {
  const int group = threadIdx.x / kGroupThreads;
  const int lane = threadIdx.x % 32;
  const int out = (T::kTall ? 0 : group * 64) + threadIdx.x % kGroupThreads / 32 * 16 + lane / 4;
  const int row = (T::kTall ? group * T::kRows : 0) + lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int i = 0; i < T::kRows / 2; ++i)
      tile[(row + i / 4 * 8 + i % 2) * T::kPitch + half * T::kHalf + out + i / 2 % 2 * 8] = sums[half][i];
}

// Adds up all parts of four neighbouring outputs of a row.
template <class T>
__device__ float4 gather(const WideProductArgs& args, const Place& place, float* tile, int row, int col) {
  const auto cluster = cooperative_groups::this_cluster();
  float4 sum = make_float4(0, 0, 0, 0);
  for (int part = 0; part < args.shape.parts; ++part) {
    const float* from = tile;
    if (args.shape.parts > 1)
      from = cluster.map_shared_rank(tile, static_cast<unsigned>(part * args.shape.sharers + place.member));
    const float4 one = *reinterpret_cast<const float4*>(from + row * T::kPitch + col);
    sum = make_float4(sum.x + one.x, sum.y + one.y, sum.z + one.z, sum.w + one.w);
  }
  return sum;
}

__device__ float4 scaled(const GemmArgs& args, float4 sum, int row, std::int64_t out) {
  float4 by = make_float4(args.scale, args.scale, args.scale, args.scale);
  if (args.w_scales != nullptr) {
    const float own = args.x_scales[row] * args.scale;
    const float4 w = *reinterpret_cast<const float4*>(args.w_scales + out);
    by = make_float4(own * w.x, own * w.y, own * w.z, own * w.w);
  }
  sum = make_float4(sum.x * by.x, sum.y * by.y, sum.z * by.z, sum.w * by.w);
  if (args.bias == nullptr) return sum;
  const auto* bias = static_cast<const Bf16*>(args.bias) + out;
  return make_float4(sum.x + to_float(bias[0]), sum.y + to_float(bias[1]), sum.z + to_float(bias[2]),
                     sum.w + to_float(bias[3]));
}

__device__ void store(const GemmArgs& args, float4 value, std::int64_t at) {
  if (args.out_type == tensor::DType::f32) {
    *reinterpret_cast<float4*>(static_cast<float*>(args.y) + at) = value;
    return;
  }
  auto* y = reinterpret_cast<uint2*>(static_cast<Bf16*>(args.y) + at);
  if (args.into == GemmArgs::Into::add) {
    const uint2 old = *y;
    value.x += __uint_as_float(old.x << 16);
    value.y += __uint_as_float(old.x & 0xffff0000u);
    value.z += __uint_as_float(old.y << 16);
    value.w += __uint_as_float(old.y & 0xffff0000u);
  }
  *y = make_uint2(pack2(value.x, value.y), pack2(value.z, value.w));
}

__device__ float4 gate(Activation activation, float4 a, float4 b) {
  return make_float4(activated(activation, a.x) * b.x, activated(activation, a.y) * b.y,
                     activated(activation, a.z) * b.z, activated(activation, a.w) * b.w);
}

// Finishes the block's share of the tile that its cluster has summed.
template <class T>
__device__ void finish(const WideProductArgs& args, const Place& place, float* tile) {
  const GemmArgs& p = args.product;
  const auto out = static_cast<int>(args.gated ? p.out / 2 : p.out);
  const int fours = (args.gated ? T::kHalf : T::kOuts) / 4;
  const int rows = min(T::kTileRows, static_cast<int>(p.rows) - place.first_row);
  const int first = rows * fours * place.part / args.shape.parts;
  const int last = rows * fours * (place.part + 1) / args.shape.parts;
  for (int i = first + static_cast<int>(threadIdx.x); i < last; i += kProductThreads) {
    const int row = i / fours;
    const int col = i % fours * 4;
    const int to = place.first_out + col;
    if (to >= out) continue;
    float4 value = scaled(p, gather<T>(args, place, tile, row, col), place.first_row + row, to);
    if (args.gated) {
      const float4 partner = gather<T>(args, place, tile, row, col + T::kHalf);
      value = gate(args.activation, value, scaled(p, partner, place.first_row + row, to + out));
    }
    store(p, value, static_cast<std::int64_t>(place.first_row + row) * out + to);
  }
}

__device__ void sync_blocks(const WideShape& shape) {
  if (shape.parts * shape.sharers > 1)
    cooperative_groups::this_cluster().sync();
  else
    __syncthreads();
}

#endif

template <class T>
__global__ void __launch_bounds__(kProductThreads, 1)
    wide_product_kernel(const __grid_constant__ CUtensorMap w_map, const __grid_constant__ CUtensorMap x_map,
                        const __grid_constant__ WideProductArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char memory[];
  __shared__ Barriers<T> barriers;
  auto* stages =
      reinterpret_cast<Stage<T>*>((reinterpret_cast<std::uintptr_t>(memory) + 1023) & ~std::uintptr_t{1023});
  auto* tile = reinterpret_cast<float*>(stages);
  const Place place = Place::find<T>(args);
  if (threadIdx.x == 0) {
    for (int i = 0; i < T::kStages; ++i) {
      make_barrier(&barriers.full[i]);
      make_barrier(&barriers.empty[i], static_cast<std::uint32_t>(kConsumers * 4 * args.shape.sharers));
    }
    publish_barriers();
  }
  release_next();
  sync_blocks(args.shape);
  if (threadIdx.x == kConsumers * kGroupThreads)
    Producer<T>{args, place, w_map, x_map, stages, barriers}.run();
  __syncwarp();
  float sums[2][T::kRows / 2];
  if (threadIdx.x < kConsumers * kGroupThreads) multiply<T>(args, place, stages, barriers, sums);
  __syncthreads();  // no thread reads the stages any more
  if (threadIdx.x < kConsumers * kGroupThreads) put_sums<T>(sums, tile);
  wait_for_previous();
  sync_blocks(args.shape);
  finish<T>(args, place, tile);
  if (args.shape.parts * args.shape.sharers > 1) sync_blocks(args.shape);  // others may still read its memory
#endif
}

template <class T>
void launch_tile(StreamHandle stream, const WideProductArgs& args) {
  const GemmArgs& p = args.product;
  constexpr int kBytes = sizeof(typename T::Number);
  CUtensorMap w_map;
  CUtensorMap x_map;
  if (!describe_matrix({p.w, p.out, p.cols, kBytes, T::kHalf}, w_map) ||
      !describe_matrix({p.x, p.rows, p.cols, kBytes, T::kTileRows / args.shape.sharers}, x_map))
    return;
  const unsigned tiles = ceil_div(args.gated ? p.out / 2 : p.out, args.gated ? T::kHalf : T::kOuts);
  const auto sharers = static_cast<unsigned>(args.shape.sharers);
  const unsigned blocks = ceil_div(tiles, sharers) * sharers * static_cast<unsigned>(args.shape.parts);
  const LaunchShape shape{.blocks = dim3(blocks, ceil_div(p.rows, T::kTileRows)),
                          .threads = kProductThreads,
                          .shared_bytes = T::kStages * T::kStageBytes + 1024,
                          .cluster = sharers * static_cast<unsigned>(args.shape.parts)};
  launch_large<wide_product_kernel<T>>(shape, stream, w_map, x_map, args);
}

template <class Number>
void launch_rows(StreamHandle stream, const WideProductArgs& args) {
  const std::int64_t rows = args.product.rows;
  if (rows <= 16) return launch_tile<Tile<Number, 16, false>>(stream, args);
  if (rows <= 32) return launch_tile<Tile<Number, 32, false>>(stream, args);
  if (rows <= 64) return launch_tile<Tile<Number, 64, false>>(stream, args);
  if (rows <= 128) return launch_tile<Tile<Number, 128, false>>(stream, args);
  launch_tile<Tile<Number, 128, true>>(stream, args);
}

bool is_aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace

bool wide_product_takes(const GemmArgs& args) {
  const bool typed = args.type == tensor::DType::bf16 &&
                     (args.out_type == tensor::DType::bf16 ||
                      (args.out_type == tensor::DType::f32 && args.into == GemmArgs::Into::overwrite));
  const std::int64_t row_bytes = args.cols * (args.w_scales != nullptr ? 1 : 2);
  return architecture() == 90 && typed && args.out % 8 == 0 && row_bytes % 16 == 0 && is_aligned(args.x) &&
         is_aligned(args.w) && is_aligned(args.y) && is_aligned(args.w_scales) && args.rows > 0;
}

std::vector<WideShape> wide_shapes(const GemmArgs& args) {
  const int outs = args.rows > 128 ? 128 : 256;
  const int tiles =
      static_cast<int>(ceil_div(args.out, outs) * ceil_div(args.rows, args.rows > 128 ? 256 : 128));
  const std::int64_t steps = args.cols * (args.w_scales != nullptr ? 1 : 2) / kStepBytes;
  std::vector<WideShape> shapes;
  for (int sharers = 1; sharers <= 2; ++sharers)
    for (int parts = 1; parts * sharers <= kMaxCluster; ++parts) {
      const int blocks = tiles * parts;
      const bool fills = blocks > num_multiprocessors() / 2 || (parts + 1) * sharers > kMaxCluster;
      const bool fits = parts == 1 || blocks <= num_multiprocessors();
      if (fills && fits && steps >= 2 * parts) shapes.push_back({parts, sharers});
    }
  return shapes;
}

WideShape invariant_shape(const GemmArgs& args) {
  constexpr int kMost = 4;  // more parts would cost too much with many rows
  const int tiles = static_cast<int>(ceil_div(args.out, 256));
  const std::int64_t steps = args.cols * (args.w_scales != nullptr ? 1 : 2) / kStepBytes;
  WideShape shape;
  while (shape.parts < kMost && tiles * (shape.parts + 1) <= num_multiprocessors() && steps > 2 * shape.parts)
    ++shape.parts;
  return shape;
}

void multiply_wide(StreamHandle stream, const WideProductArgs& args) {
  if (args.product.w_scales != nullptr)
    launch_rows<E4m3>(stream, args);
  else
    launch_rows<Bf16>(stream, args);
}

}  // namespace kvasir::ops::cuda

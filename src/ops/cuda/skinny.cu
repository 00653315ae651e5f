#include <cooperative_groups.h>

#include "ops/cuda/activated.cuh"
#include "ops/cuda/int4.cuh"
#include "ops/cuda/int4.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/skinny.h"
#include "ops/cuda/tiles.cuh"

// Rows of w are the rows of a product, and rows of x its columns. A cluster of thread blocks takes a tile of
// w's rows, and each block a part of the columns, in steps of 128 bytes of every row. The next few steps are
// always under way. Finally each block adds up a share of the sums of all blocks, in the order of the blocks.
namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

constexpr int kStepChunks = 8;  // chunks of 16 bytes of a row of w in a step
constexpr int kWideTile = 128;

template <int rows>
struct Kind {
  static constexpr int kRows = rows;
  static constexpr int kOuts = rows == 16 ? kWideTile / 2 : kWideTile;  // rows of w in a tile
  static constexpr int kWarps = kOuts / 16;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kStride = kOuts + 4;  // floats from one row of sums to the next
  static constexpr int kStepCols = 256;
  static constexpr int kXChunks = kStepCols / 8;
  static constexpr int kGroupChunks = 2;  // chunks of a row's groups in a step
  static constexpr int kStages = rows == 16 ? 4 : 3;
  static constexpr int kBlocks = rows == 64 ? 1 : rows == 32 ? 2 : 3;  // thread blocks on a multiprocessor
};

// Lanes that read at once (four neighbouring chunks of two rows) read from different banks.
__device__ inline int place(int row, int chunk) {
  return chunk ^ ((row & 1) << 2);
}

template <class Own>
struct Stage {
  uint4 w[Own::kOuts][kStepChunks];
  uint4 x[Own::kRows][Own::kXChunks];
  uint4 groups[Own::kOuts * Own::kGroupChunks];
};

template <class Own>
struct Task {
  const SkinnyArgs& args;
  const bool gated;
  const int tile;

  __device__ explicit Task(const SkinnyArgs& a)
      : args(a), gated(a.then == Then::gate), tile(static_cast<int>(blockIdx.x / a.num_parts)) {}

  // The output for a row of the tile, or args.out if there is none. With a gate, the second half of a tile
  // holds the partners of the first half.
  __device__ int out_of(int row) const {
    const int own = gated ? tile * (Own::kOuts / 2) + row % (Own::kOuts / 2) : tile * Own::kOuts + row;
    if (own >= (gated ? args.out / 2 : args.out)) return args.out;
    return gated && row >= Own::kOuts / 2 ? args.out / 2 + own : own;
  }
};

// A thread's part of copying steps: the same chunk of the same rows in each step. The source of each chunk in
// the first step, and how many of its bytes exist, are computed once.
template <class Own>
struct Copies {
  static constexpr int kNumW = Own::kOuts * kStepChunks / Own::kThreads;
  static constexpr int kNumX = (Own::kRows * Own::kXChunks + Own::kThreads - 1) / Own::kThreads;
  static constexpr int kRowsW = Own::kThreads / kStepChunks;  // distance between a thread's rows
  static constexpr int kRowsX = Own::kThreads / Own::kXChunks;
  // So all of a thread's copies have the same place within their rows.
  static_assert(kRowsW % 2 == 0 && kRowsX % 2 == 0);

  const unsigned char* w[kNumW];
  const unsigned char* x[kNumX];
  const unsigned char* groups = nullptr;
  int w_bytes[kNumW];
  int x_bytes[kNumX];
  int group_bytes = 0;
  int w_steps, x_steps, group_steps = 0;  // steps until the thread's column ends
  int w_place, x_place;

  __device__ explicit Copies(const Task<Own>& task) {
    const SkinnyArgs& args = task.args;
    const auto thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % kStepChunks;
    const std::int64_t row_bytes = static_cast<std::int64_t>(args.cols) * kStepChunks * 16 / Own::kStepCols;
    w_steps = (static_cast<int>(row_bytes / 16) - chunk + kStepChunks - 1) / kStepChunks;
    w_place = thread / kStepChunks * kStepChunks + place(thread / kStepChunks, chunk);
#pragma unroll
    for (int i = 0; i < kNumW; ++i) {
      const int out = task.out_of(thread / kStepChunks + i * kRowsW);
      w_bytes[i] = out < args.out ? 16 : 0;
      w[i] = static_cast<const unsigned char*>(args.w) + (out < args.out ? out : 0) * row_bytes + chunk * 16;
    }
    const int x_chunk = thread % Own::kXChunks;
    const int x_row = thread / Own::kXChunks;
    x_steps = (args.cols / 8 - x_chunk + Own::kXChunks - 1) / Own::kXChunks;
    x_place = x_row * Own::kXChunks + place(x_row, x_chunk);
#pragma unroll
    for (int i = 0; i < kNumX; ++i) {
      const int row = x_row + i * kRowsX;
      x_bytes[i] = row < args.rows ? 16 : 0;
      x[i] = static_cast<const unsigned char*>(args.x) +
             (static_cast<std::int64_t>(row < args.rows ? row : 0) * args.cols + x_chunk * 8) * 2;
    }
    const int out = task.out_of(thread / Own::kGroupChunks);
    const int group = thread % Own::kGroupChunks;
    const std::int64_t per_row = args.cols / 32;
    group_bytes = out < args.out ? 16 : 0;
    group_steps = (args.cols / 128 - group + 1) / 2;
    groups = static_cast<const unsigned char*>(args.groups) + (out < args.out ? out : 0) * per_row * 4 +
             group * 16;
  }

  __device__ void fetch_w(int step, Stage<Own>& stage) const {
    const std::int64_t offset = step < w_steps ? static_cast<std::int64_t>(step) * (kStepChunks * 16) : 0;
#pragma unroll
    for (int i = 0; i < kNumW; ++i)
      copy_async(&stage.w[0][0] + w_place + i * (kRowsW * kStepChunks), w[i] + offset,
                 step < w_steps ? w_bytes[i] : 0);
    const bool there = step < group_steps;
    copy_async(&stage.groups[threadIdx.x], groups + (there ? step * (Own::kGroupChunks * 16) : 0),
               there ? group_bytes : 0);
  }

  __device__ void fetch_x(int step, Stage<Own>& stage) const {
    const std::int64_t offset = step < x_steps ? static_cast<std::int64_t>(step) * (Own::kXChunks * 16) : 0;
#pragma unroll
    for (int i = 0; i < kNumX; ++i) {
      if (kNumX > 1 || static_cast<int>(threadIdx.x) < Own::kRows * Own::kXChunks)
        copy_async(&stage.x[0][0] + x_place + i * (kRowsX * Own::kXChunks), x[i] + offset,
                   step < x_steps ? x_bytes[i] : 0);
    }
  }
};

__device__ inline uint32_t word_of(const uint4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// A thread's sums: for two tiles of 16 rows of w, times eight rows of x each.
template <class Own>
struct Sums {
  static constexpr int kBlocks = Own::kOuts / 32;  // blocks of 32 rows of w, one for each warp
  float values[2][Own::kRows / 8][4] = {};

  template <class F>
  __device__ void each(F f) {
    const int lane = threadIdx.x % 32;
    const int first = threadIdx.x / 32 % kBlocks * 32 + lane / 4;
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < Own::kRows / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          f(n * 8 + lane % 4 * 2 + i % 2, first + m * 16 + i / 2 * 8, values[m][n][i]);
  }

  // Adds the products of the two tiles `a` of w with rows 8 n to 8 n + 7 of x.
  __device__ void add(int n, const uint32_t (&a)[2][4], uint32_t b0, uint32_t b1) {
#pragma unroll
    for (int m = 0; m < 2; ++m) multiply_bf16(values[m][n], a[m], b0, b1);
  }
};

// The first half of the warps takes the first half of a step's columns, and the other warps the second half.
template <class Own>
__device__ void multiply_step(const Stage<Own>& stage, Sums<Own>& sums) {
  const int lane = threadIdx.x % 32;
  const int half = static_cast<int>(threadIdx.x) / (Own::kThreads / 2);
  const int row = threadIdx.x / 32 % Sums<Own>::kBlocks * 32 + lane / 4;
  const int chunk = 4 * half + lane % 4;
  uint4 w[2][2];  // [tile][upper or lower eight rows]
#pragma unroll
  for (int i = 0; i < 4; ++i) w[i / 2][i % 2] = stage.w[row + i * 8][place(row, chunk)];
  const auto x_at = [&](int n, int x_chunk) {
    const int x_row = n * 8 + lane / 4;
    return stage.x[x_row][place(x_row, x_chunk)];
  };
  uint4 groups[2][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) groups[i / 2][i % 2] = stage.groups[(row + i * 8) * 2 + half];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t a[2][2][4];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      uint32_t upper[4], lower[4];
      widen_int4(word_of(w[m][0], j), word_of(groups[m][0], j), upper);
      widen_int4(word_of(w[m][1], j), word_of(groups[m][1], j), lower);
#pragma unroll
      for (int k = 0; k < 2; ++k)
        a[k][m][0] = upper[2 * k], a[k][m][1] = lower[2 * k], a[k][m][2] = upper[2 * k + 1],
        a[k][m][3] = lower[2 * k + 1];
    }
#pragma unroll
    for (int n = 0; n < Own::kRows / 8; ++n) {
      const uint4 x = x_at(n, 16 * half + 4 * j + lane % 4);
      sums.add(n, a[0], x.x, x.y);
      sums.add(n, a[1], x.z, x.w);
    }
  }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

// The cluster's sums of two neighbouring outputs.
template <class Own>
__device__ float2 gather(const cooperative_groups::cluster_group& cluster, const float* buffer, int r,
                         int out) {
  float2 sum = make_float2(0, 0);
  const unsigned num_parts = cluster.num_blocks();
  for (unsigned part = 0; part < num_parts; ++part) {
    const float* other = cluster.map_shared_rank(buffer, part);
    const float2 more = *reinterpret_cast<const float2*>(other + r * Own::kStride + out);
    sum.x += more.x, sum.y += more.y;
  }
  return sum;
}

// Writes this block's share of a tile to y.
template <class Own>
__device__ void finish(const Task<Own>& task, const cooperative_groups::cluster_group& cluster,
                       const float* buffer) {
  const SkinnyArgs& args = task.args;
  const int units = task.gated ? Own::kOuts / 2 : Own::kOuts;
  const int outs = task.gated ? args.out / 2 : args.out;
  const auto num_parts = static_cast<int>(cluster.num_blocks());
  const int first = static_cast<int>(cluster.block_rank()) * Own::kThreads + static_cast<int>(threadIdx.x);
  for (int i = first; i < args.rows * units / 2; i += num_parts * Own::kThreads) {
    const int r = i / (units / 2);
    const int own = i % (units / 2) * 2;
    const int out = task.tile * units + own;
    if (out >= outs) continue;
    float2 value = gather<Own>(cluster, buffer, r, own);
    if (args.bias != nullptr) {
      const float2 bias = __bfloat1622float2(
          *reinterpret_cast<const __nv_bfloat162*>(static_cast<const Bf16*>(args.bias) + out));
      value.x += bias.x, value.y += bias.y;
    }
    if (task.gated) {
      const float2 partner = gather<Own>(cluster, buffer, r, own + Own::kOuts / 2);
      value.x = activated(args.activation, value.x) * partner.x;
      value.y = activated(args.activation, value.y) * partner.y;
    }
    const std::int64_t at = static_cast<std::int64_t>(r) * outs + out;
    if (args.then == Then::store_f32) {
      *reinterpret_cast<float2*>(static_cast<float*>(args.y) + at) = value;
      continue;
    }
    auto* y = reinterpret_cast<__nv_bfloat162*>(static_cast<Bf16*>(args.y) + at);
    if (args.then == Then::add) {
      const float2 before = __bfloat1622float2(*y);
      value.x = before.x + args.scale * value.x;
      value.y = before.y + args.scale * value.y;
    }
    *y = __floats2bfloat162_rn(value.x, value.y);
  }
}

#endif

template <class Own>
__global__ void __launch_bounds__(Own::kThreads, Own::kBlocks) skinny_kernel(SkinnyArgs args) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  constexpr int kStages = Own::kStages;
  auto* stages = reinterpret_cast<Stage<Own>*>(memory);
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  const Task<Own> task(args);
  const Copies<Own> copies(task);
  const int num_steps = (args.cols + Own::kStepCols - 1) / Own::kStepCols;
  const auto part = static_cast<int>(cluster.block_rank());
  const int first = num_steps * part / args.num_parts;
  const int count = num_steps * (part + 1) / args.num_parts - first;
  release_next();
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < count) copies.fetch_w(first + i, stages[i]);
    end_copies();
  }
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < count) copies.fetch_x(first + i, stages[i]);
    end_copies();
  }
  Sums<Own> sums;
  for (int i = 0; i < count; ++i) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    const int next = i + kStages - 1;
    if (next < count) {
      copies.fetch_w(first + next, stages[next % kStages]);
      copies.fetch_x(first + next, stages[next % kStages]);
    }
    end_copies();
    multiply_step(stages[i % kStages], sums);
  }
  wait_for_copies<0>();
  __syncthreads();
  auto* buffer = reinterpret_cast<float*>(memory);  // [rows, kStride]
  const bool second_half = threadIdx.x >= Own::kThreads / 2;
  if (second_half) sums.each([&](int r, int o, float value) { buffer[r * Own::kStride + o] = value; });
  __syncthreads();
  if (!second_half) sums.each([&](int r, int o, float value) { buffer[r * Own::kStride + o] += value; });
  cluster.sync();
  finish(task, cluster, buffer);
  cluster.sync();  // no block leaves while others read
#endif
}

template <int rows>
void launch(StreamHandle stream, const SkinnyArgs& args) {
  using Own = Kind<rows>;
  constexpr int kBytes = Own::kStages * sizeof(Stage<Own>);
  static_assert(kBytes * Own::kBlocks <= 227 * 1024 && rows * Own::kStride * sizeof(float) <= kBytes);
  const auto num_parts = static_cast<unsigned>(args.num_parts);
  const LaunchShape shape{dim3(ceil_div(args.out, Own::kOuts) * num_parts), Own::kThreads, kBytes, num_parts};
  launch_large<skinny_kernel<Own>>(shape, stream, args);
}

// How many blocks share a tile's columns. This must not depend on the number of rows, since the sums depend
// on it.
int parts_of(const SkinnyArgs& args) {
  constexpr int kMinCols = 256;  // fewest columns in a part
  constexpr int kMost = 4;       // measured
  const int wanted = num_multiprocessors() * 2 / static_cast<int>(ceil_div(args.out, kWideTile));
  const int parts = wanted < args.cols / kMinCols ? wanted : args.cols / kMinCols;
  return parts < 1 ? 1 : parts < kMost ? parts : kMost;
}

}  // namespace

bool skinny_takes(std::int64_t cols) {
  return architecture() >= 90 && cols % kInt4Block == 0;
}

void skinny(StreamHandle stream, SkinnyArgs args) {
  if (args.rows == 0) return;
  args.num_parts = parts_of(args);
  if (args.rows <= 16) return launch<16>(stream, args);
  if (args.rows <= 32) return launch<32>(stream, args);
  launch<64>(stream, args);
}

}  // namespace kvasir::ops::cuda

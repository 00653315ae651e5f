#include "ops/cuda/experts.h"
#include "ops/cuda/launch.cuh"

namespace kvasir::ops::cuda {
namespace {

template <class T>
__global__ void gather_kernel(GatherArgs args) {
  release_next();
  wait_for_previous();
  const std::int64_t slot = blockIdx.x;
  const T* from =
      static_cast<const T*>(args.rows) + static_cast<std::int64_t>(args.slot_rows[slot]) * args.dim;
  T* to = static_cast<T*>(args.slots) + slot * args.dim;
  for (int at = threadIdx.x * 8; at < args.dim; at += blockDim.x * 8) {
    float x[8];
    load8(from + at, x);
    store8(to + at, x);
  }
}

template <class T>
__global__ void combine_kernel(CombineArgs args) {
  release_next();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  for (int at = threadIdx.x * 8; at < args.dim; at += blockDim.x * 8) {
    float sum[8] = {};
    for (int i = 0; i < args.num_used; ++i) {
      const std::int64_t slot = args.slots_of_row[row * args.num_used + i];
      const float weight = args.weights[row * args.num_used + i];
      float x[8];
      load8(static_cast<const T*>(args.slots) + slot * args.dim + at, x);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += weight * x[j];
    }
    if (args.shared != nullptr) {
      float x[8];
      load8(static_cast<const T*>(args.shared) + row * args.dim + at, x);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += x[j];
    }
    store8(static_cast<T*>(args.y) + row * args.dim + at, sum);
  }
}

// One warp computes one output.
template <class T>
__global__ void head_matmul_kernel(HeadMatmulArgs args) {
  release_next();
  wait_for_previous();
  const int o = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int head = blockIdx.y;
  const std::int64_t row = blockIdx.z;
  if (o >= args.out) return;
  const T* x = static_cast<const T*>(args.x) + (row * args.num_heads + head) * args.x_stride + args.x_offset;
  const T* w = static_cast<const T*>(args.w) + (static_cast<std::int64_t>(head) * args.out + o) * args.in;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < args.in; i += 32) sum += to_float(x[i]) * to_float(w[i]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0)
    static_cast<T*>(args.y)[(row * args.num_heads + head) * args.y_stride + args.y_offset + o] =
        from_float<T>(sum);
}

template <class T>
__global__ void copy_columns_kernel(CopyColumnsArgs args) {
  release_next();
  wait_for_previous();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= args.num_vectors * args.count) return;
  const std::int64_t vector = i / args.count;
  const int column = static_cast<int>(i % args.count);
  static_cast<T*>(args.to)[vector * args.to_stride + args.to_offset + column] =
      static_cast<const T*>(args.from)[vector * args.from_stride + args.from_offset + column];
}

}  // namespace

void gather_rows(StreamHandle stream, const GatherArgs& args) {
  if (args.num_slots == 0) return;
  with_type(args.type, [&](auto value) {
    launch_early(gather_kernel<decltype(value)>, {dim3(args.num_slots), 128, 0}, stream, args);
  });
}

void combine_slots(StreamHandle stream, const CombineArgs& args) {
  if (args.rows == 0) return;
  with_type(args.type, [&](auto value) {
    launch_early(combine_kernel<decltype(value)>, {dim3(args.rows), 128, 0}, stream, args);
  });
}

void head_matmul(StreamHandle stream, const HeadMatmulArgs& args) {
  constexpr int kMaxRows = 65535;  // largest number of rows in a grid
  for (int first = 0; first < args.rows; first += kMaxRows) {
    HeadMatmulArgs part = args;
    part.rows = args.rows - first < kMaxRows ? args.rows - first : kMaxRows;
    const dim3 blocks(ceil_div(args.out, 4), args.num_heads, part.rows);
    with_type(args.type, [&](auto value) {
      using T = decltype(value);
      part.x =
          static_cast<const T*>(args.x) + static_cast<std::int64_t>(first) * args.num_heads * args.x_stride;
      part.y = static_cast<T*>(args.y) + static_cast<std::int64_t>(first) * args.num_heads * args.y_stride;
      launch_early(head_matmul_kernel<T>, {dim3(blocks), 128, 0}, stream, part);
    });
  }
}

void copy_columns(StreamHandle stream, const CopyColumnsArgs& args) {
  if (args.num_vectors == 0) return;
  const unsigned blocks = ceil_div(args.num_vectors * args.count, 256);
  with_type(args.type, [&](auto value) {
    launch_early(copy_columns_kernel<decltype(value)>, {dim3(blocks), 256, 0}, stream, args);
  });
}

}  // namespace kvasir::ops::cuda

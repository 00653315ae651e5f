#include "ops/cuda/activated.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/rows.h"

namespace kvasir::ops::cuda {
namespace {

// The part of a row that a thread holds: eight numbers at each of kItems places.
template <int kItems>
struct Part {
  float x[kItems][8];
};

template <class T, int kItems>
__device__ void load_part(const T* row, int dim, Part<kItems>& part) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = (i * blockDim.x + threadIdx.x) * 8;
    if (at < dim) {
      load8(row + at, part.x[i]);
    } else {
#pragma unroll
      for (float& x : part.x[i]) x = 0;
    }
  }
}

template <class T, int kItems>
__device__ void store_part(T* row, int dim, const Part<kItems>& part) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = (i * blockDim.x + threadIdx.x) * 8;
    if (at < dim) store8(row + at, part.x[i]);
  }
}

// Stores the row as e4m3, and its scale.
template <int kItems>
__device__ void store_quantized(const Part<kItems>& part, int dim, void* row, float* scale, float* scratch) {
  constexpr float kLargest = 448;
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i)
#pragma unroll
    for (const float x : part.x[i]) largest = fmaxf(largest, fabsf(x));
  largest = block_max(largest, scratch);
  const float step = largest > 0 ? largest / kLargest : 1;
  if (threadIdx.x == 0) *scale = step;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = (i * blockDim.x + threadIdx.x) * 8;
    if (at >= dim) continue;
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float2 pair = make_float2(part.x[i][j] / step, part.x[i][j + 1] / step);
      words[j / 4] |= static_cast<uint32_t>(__nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3))
                      << (j % 4 * 8);
    }
    *reinterpret_cast<uint2*>(static_cast<unsigned char*>(row) + at) = make_uint2(words[0], words[1]);
  }
}

template <int kItems>
__device__ void normalize(const NormWeights& norm, int dim, float eps, Part<kItems>& part, float* scratch) {
  if (norm.bias != nullptr) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i)
#pragma unroll
      for (const float x : part.x[i]) sum += x;
    const float mean = block_sum(sum, scratch) / dim;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if ((i * blockDim.x + threadIdx.x) * 8 >= dim) continue;
#pragma unroll
      for (float& x : part.x[i]) x -= mean;
    }
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i)
#pragma unroll
    for (const float x : part.x[i]) squares += x * x;
  const float factor = rsqrtf(block_sum(squares, scratch) / dim + eps);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = (i * blockDim.x + threadIdx.x) * 8;
    if (at >= dim) continue;
    float weight[8];
    load8(norm.weight + at, weight);
#pragma unroll
    for (int j = 0; j < 8; ++j) part.x[i][j] *= factor * weight[j];
    if (norm.bias == nullptr) continue;
    float bias[8];
    load8(norm.bias + at, bias);
#pragma unroll
    for (int j = 0; j < 8; ++j) part.x[i][j] += bias[j];
  }
}

// One block for each row.
template <class T, int kItems>
__global__ void __launch_bounds__(1024) add_norm_kernel(AddNormArgs args) {
  release_next();
  wait_for_previous();
  __shared__ float scratch[33];
  const std::int64_t source = args.row_ids != nullptr ? args.row_ids[blockIdx.x] : blockIdx.x;
  T* hidden = static_cast<T*>(args.hidden) + source * args.dim;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * args.dim;
  Part<kItems> x;
  load_part(hidden, args.dim, x);
  if (args.branch != nullptr) {
    Part<kItems> branch;
    load_part(static_cast<const T*>(args.branch) + row, args.dim, branch);
    if (args.post_norm.weight != nullptr) normalize(args.post_norm, args.dim, args.eps, branch, scratch);
#pragma unroll
    for (int i = 0; i < kItems; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) x.x[i][j] += args.scale * branch.x[i][j];
    store_part(hidden, args.dim, x);
  }
  if (args.norm.weight == nullptr) return;
  normalize(args.norm, args.dim, args.eps, x, scratch);
  if (args.out_scales != nullptr)
    store_quantized(x, args.dim, static_cast<unsigned char*>(args.out) + row, args.out_scales + blockIdx.x,
                    scratch);
  else
    store_part(static_cast<T*>(args.out) + row, args.dim, x);
}

// One warp takes one vector.
template <class T>
__global__ void norm_vectors_kernel(NormVectorsArgs args) {
  release_next();
  wait_for_previous();
  const int vector = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (vector >= args.rows * args.count) return;
  T* x = static_cast<T*>(args.x) + vector / args.count * args.row_stride +
         static_cast<std::int64_t>(vector % args.count) * args.dim;
  float mean = 0;
  float squares = 0;
  float part[8];
  if (args.norm.bias != nullptr) {
    for (int at = lane * 8; at < args.dim; at += 256) {
      load8(x + at, part);
      for (const float value : part) mean += value;
    }
    mean = warp_sum(mean) / args.dim;
  }
  for (int at = lane * 8; at < args.dim; at += 256) {
    load8(x + at, part);
    for (const float value : part) squares += (value - mean) * (value - mean);
  }
  const float factor = rsqrtf(warp_sum(squares) / args.dim + args.eps);
  for (int at = lane * 8; at < args.dim; at += 256) {
    float weight[8];
    load8(x + at, part);
    load8(args.norm.weight + at, weight);
    for (int j = 0; j < 8; ++j) {
      part[j] = (part[j] - mean) * factor * weight[j];
      if (args.norm.bias != nullptr) part[j] += args.norm.bias[at + j];
    }
    store8(x + at, part);
  }
}

template <class T>
__global__ void activate_kernel(ActivateArgs args) {
  release_next();
  wait_for_previous();
  const int at = (blockIdx.y * blockDim.x + threadIdx.x) * 8;
  if (at >= args.inner) return;
  const bool gated = args.form == ActivateArgs::Form::gated;
  const std::int64_t row = blockIdx.x;
  const T* x = static_cast<const T*>(args.x) + row * args.inner * (gated ? 2 : 1) + at;
  float gate[8];
  load8(x, gate);
#pragma unroll
  for (float& value : gate) value = activated(args.activation, value);
  if (gated) {
    float up[8];
    load8(x + args.inner, up);
#pragma unroll
    for (int j = 0; j < 8; ++j) gate[j] *= up[j];
  }
  store8(static_cast<T*>(args.y) + row * args.inner + at, gate);
}

// One block for each row.
template <int kItems>
__global__ void __launch_bounds__(1024) activate_quantized_kernel(ActivateArgs args) {
  release_next();
  wait_for_previous();
  __shared__ float scratch[33];
  const bool gated = args.form == ActivateArgs::Form::gated;
  const std::int64_t row = blockIdx.x;
  const Bf16* x = static_cast<const Bf16*>(args.x) + row * args.inner * (gated ? 2 : 1);
  Part<kItems> gate;
  load_part(x, args.inner, gate);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
#pragma unroll
    for (float& value : gate.x[i]) value = activated(args.activation, value);
    const int at = (i * blockDim.x + threadIdx.x) * 8;
    if (!gated || at >= args.inner) continue;
    float up[8];
    load8(x + args.inner + at, up);
#pragma unroll
    for (int j = 0; j < 8; ++j) gate.x[i][j] *= up[j];
  }
  store_quantized(gate, args.inner, static_cast<unsigned char*>(args.y) + row * args.inner,
                  args.y_scales + row, scratch);
}

// One block for each row.
template <int kItems>
__global__ void __launch_bounds__(1024) quantize_kernel(QuantizeArgs args) {
  release_next();
  wait_for_previous();
  __shared__ float scratch[33];
  const std::int64_t row = blockIdx.x;
  Part<kItems> x;
  load_part(static_cast<const Bf16*>(args.x) + row * args.dim, args.dim, x);
  store_quantized(x, args.dim, static_cast<unsigned char*>(args.y) + row * args.dim, args.y_scales + row,
                  scratch);
}

template <class T>
__global__ void embed_kernel(EmbedArgs args) {
  release_next();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  std::int32_t token = args.tokens[row];
  if (token < 0) token = max(0, args.drawn[-1 - token].token);
  const T* from = static_cast<const T*>(args.table) + static_cast<std::int64_t>(token) * args.dim;
  T* to = static_cast<T*>(args.y) + row * args.dim;
  for (int at = threadIdx.x * 8; at < args.dim; at += blockDim.x * 8) {
    float x[8];
    load8(from + at, x);
#pragma unroll
    for (float& value : x) value *= args.scale;
    if (args.position_table != nullptr) {
      float offset[8];
      load8(static_cast<const T*>(args.position_table) +
                static_cast<std::int64_t>(args.positions[row]) * args.dim + at,
            offset);
#pragma unroll
      for (int j = 0; j < 8; ++j) x[j] += offset[j];
    }
    store8(to + at, x);
  }
}

__global__ void scale_and_cap_kernel(float* x, std::int64_t count, float factor, float softcap) {
  release_next();
  wait_for_previous();
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float value = x[i] * factor;
  x[i] = softcap > 0 ? softcap * tanhf(value / softcap) : value;
}

template <class T>
__global__ void fill_random_kernel(T* x, std::int64_t count, float bound, std::uint32_t seed) {
  release_next();
  wait_for_previous();
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    std::uint64_t bits = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u + seed;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    const float unit = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1.0p-31f;
    x[i] = from_float<T>(unit * bound);
  }
}

// How a row is divided among at most 1024 threads: each thread takes `items` groups of eight numbers.
struct RowShape {
  unsigned items;
  unsigned threads;
};

RowShape shape_of(int dim) {
  const unsigned pieces = ceil_div(dim, 8);
  const unsigned items = pieces <= 1024 ? 1 : pieces <= 2048 ? 2 : 8;
  return {items, ceil_div(ceil_div(pieces, items), 32) * 32};
}

}  // namespace

void add_norm(StreamHandle stream, const AddNormArgs& args) {
  if (args.rows == 0) return;
  const unsigned pieces = ceil_div(args.dim, 8);
  const unsigned items = pieces <= 1024 ? 1 : 4;
  const unsigned threads = ceil_div(ceil_div(pieces, items), 32) * 32;
  with_type(args.type, [&](auto value) {
    using T = decltype(value);
    if (items == 1)
      launch_early(add_norm_kernel<T, 1>, {dim3(args.rows), threads, 0}, stream, args);
    else
      launch_early(add_norm_kernel<T, 4>, {dim3(args.rows), threads, 0}, stream, args);
  });
}

void norm_vectors(StreamHandle stream, const NormVectorsArgs& args) {
  if (args.rows == 0) return;
  const unsigned blocks = ceil_div(static_cast<std::int64_t>(args.rows) * args.count, 4);
  with_type(args.type, [&](auto value) {
    launch_early(norm_vectors_kernel<decltype(value)>, {dim3(blocks), 128, 0}, stream, args);
  });
}

void activate(StreamHandle stream, const ActivateArgs& args) {
  if (args.rows == 0) return;
  if (args.y_scales != nullptr) {
    const RowShape shape = shape_of(args.inner);
    const LaunchShape launched{dim3(args.rows), shape.threads, 0};
    if (shape.items == 1) launch_early(activate_quantized_kernel<1>, launched, stream, args);
    if (shape.items == 2) launch_early(activate_quantized_kernel<2>, launched, stream, args);
    if (shape.items == 8) launch_early(activate_quantized_kernel<8>, launched, stream, args);
    return;
  }
  const dim3 blocks(args.rows, ceil_div(args.inner, 8 * 256));
  with_type(args.type, [&](auto value) {
    launch_early(activate_kernel<decltype(value)>, {dim3(blocks), 256, 0}, stream, args);
  });
}

void quantize_rows(StreamHandle stream, const QuantizeArgs& args) {
  if (args.rows == 0) return;
  const RowShape shape = shape_of(args.dim);
  const LaunchShape launched{dim3(static_cast<unsigned>(args.rows)), shape.threads, 0};
  if (shape.items == 1) launch_early(quantize_kernel<1>, launched, stream, args);
  if (shape.items == 2) launch_early(quantize_kernel<2>, launched, stream, args);
  if (shape.items == 8) launch_early(quantize_kernel<8>, launched, stream, args);
}

void embed(StreamHandle stream, const EmbedArgs& args) {
  if (args.rows == 0) return;
  with_type(args.type, [&](auto value) {
    launch_early(embed_kernel<decltype(value)>, {dim3(args.rows), 128, 0}, stream, args);
  });
}

void scale_and_cap(StreamHandle stream, float* x, std::int64_t count, float factor, float softcap) {
  if (count == 0) return;
  launch_early(scale_and_cap_kernel, {dim3(ceil_div(count, 256)), 256, 0}, stream, x, count, factor, softcap);
}

void fill_random(StreamHandle stream, tensor::DType type, void* x, std::int64_t count, float bound,
                 std::uint32_t seed) {
  with_type(type, [&](auto value) {
    using T = decltype(value);
    launch_early(fill_random_kernel<T>, {dim3(1024), 256, 0}, stream, static_cast<T*>(x), count, bound, seed);
  });
}

}  // namespace kvasir::ops::cuda

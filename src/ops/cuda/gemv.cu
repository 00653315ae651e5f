#include "ops/cuda/activated.cuh"
#include "ops/cuda/gemv.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/weights.cuh"

// A thread block takes a range of w's rows, one after another. Each thread takes the same columns of all of
// them, so x stays in registers, and loads of weights are always under way.
namespace kvasir::ops::cuda {
namespace {

using Then = GemvArgs::Then;

constexpr int kLoadsPerMultiprocessor = 4096;  // loads of 16 bytes that are under way

// Sums each of the values over the warp. Lane l gets the sum of value l * kCount / 32.
template <int kCount, int kWidth = 16>
__device__ float fold(const float (&values)[kCount]) {
  if constexpr (kCount == 1) {
    float sum = values[0];
#pragma unroll
    for (int width = kWidth; width > 0; width /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, width);
    return sum;
  } else {
    constexpr int kHalf = kCount / 2;
    const bool upper = (threadIdx.x & kWidth) != 0;
    float half[kHalf];
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const float sent = upper ? values[i] : values[i + kHalf];
      const float kept = upper ? values[i + kHalf] : values[i];
      half[i] = kept + __shfl_xor_sync(0xffffffffu, sent, kWidth);
    }
    return fold<kHalf, kWidth / 2>(half);
  }
}

template <class W, int items, int threads, int blocks>
struct Shape {
  using Weights = W;
  static constexpr int kBlocks = blocks;  // thread blocks on a multiprocessor
  static constexpr int kItems = items;    // chunks of a row that a thread takes
  static constexpr int kThreads = threads;
  static constexpr int kChunk = Weights::kChunk;
  static constexpr int kBatch = kLoadsPerMultiprocessor / (kBlocks * kThreads * kItems);  // rows of w at once
};

// An output's factors, and the number that the product is added to. Loaded early, and not used until the end.
struct Ending {
  float scale = 1;
  float partner_scale = 1;
  Bf16 before;
};

template <class Own>
struct Task {
  static constexpr int kItems = Own::kItems;
  static constexpr int kThreads = Own::kThreads;
  static constexpr int kChunk = Own::kChunk;
  static constexpr int kBatch = Own::kBatch;
  static constexpr int kHalf = kBatch / 2;
  using X = typename Own::Weights::X;

  const GemvArgs& args;
  const int chunks;
  const bool gated;
  const int units;  // outputs in a batch
  int first, last;  // this block has the outputs [first, last)
  uint4 w[kBatch][kItems];

  __device__ explicit Task(const GemvArgs& a)
      : args(a), chunks(a.cols / kChunk), gated(a.then == Then::gate), units(gated ? kHalf : kBatch) {
    const std::int64_t all = gated ? a.out / 2 : a.out;
    first = static_cast<int>(all * blockIdx.x / gridDim.x);
    last = static_cast<int>(all * (blockIdx.x + 1) / gridDim.x);
  }

  // With a gate, the second half of a batch holds the partners of the first half.
  __device__ int row_of(int unit, int slot) const {
    return unit + slot + (gated && slot >= kHalf ? args.out / 2 - kHalf : 0);
  }
  __device__ bool has(int unit, int slot) const {
    return unit + (gated && slot >= kHalf ? slot - kHalf : slot) < last;
  }

  __device__ void fetch(int unit, int slot, int item) {
    const int c = threadIdx.x + item * kThreads;
    w[slot][item] = c < chunks && has(unit, slot)
                        ? load_once(static_cast<const uint4*>(args.w) +
                                    static_cast<std::int64_t>(row_of(unit, slot)) * chunks + c)
                        : make_uint4(0, 0, 0, 0);
  }

  // Loads and normalises this thread's columns. Returns the factor for the final sums.
  __device__ float load_x(float* scratch, X (&packed)[kItems]) const {
    float x[kItems][kChunk];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int c = threadIdx.x + i * kThreads;
      const Bf16* from = static_cast<const Bf16*>(args.x) + c * kChunk;
#pragma unroll
      for (int part = 0; part < kChunk; part += 8) {
        float eight[8] = {};
        if (c < chunks) load8(from + part, eight);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          x[i][part + j] = eight[j];
          squares += eight[j] * eight[j];
        }
      }
    }
    if (args.rms_weight != nullptr) {
      const float factor = rsqrtf(block_sum(squares, scratch) / args.cols + args.eps);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int c = threadIdx.x + i * kThreads;
        if (c >= chunks) continue;
#pragma unroll
        for (int part = 0; part < kChunk; part += 8) {
          float weight[8];
          load8(args.rms_weight + c * kChunk + part, weight);
#pragma unroll
          for (int j = 0; j < 8; ++j) x[i][part + j] *= factor * weight[j];
        }
      }
    }
    float largest = 1;
    if constexpr (kChunk == 16) {
      largest = 1e-20f;
#pragma unroll
      for (int i = 0; i < kItems; ++i)
#pragma unroll
        for (const float value : x[i]) largest = fmaxf(largest, fabsf(value));
      largest = block_max(largest, scratch);
#pragma unroll
      for (int i = 0; i < kItems; ++i)
#pragma unroll
        for (float& value : x[i]) value *= 1 / largest;
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i)
#pragma unroll
      for (int part = 0; part < kChunk / 8; ++part)
        packed[i].parts[part] = Own::Weights::pack8(x[i] + 8 * part);
    return largest;
  }

  __device__ Ending load_ending(int unit, int own) const {
    Ending ending;
    if (args.w_scales != nullptr) {
      ending.scale = args.w_scales[row_of(unit, own)];
      if (gated) ending.partner_scale = args.w_scales[row_of(unit, own + units)];
    }
    if (args.then == Then::add) ending.before = static_cast<const Bf16*>(args.y)[unit + own];
    return ending;
  }

  __device__ void finish(int unit, float sum, float partner) const {
    switch (args.then) {
      case Then::store:
      case Then::add:
        static_cast<Bf16*>(args.y)[unit] = from_float<Bf16>(sum);
        break;
      case Then::store_f32:
        static_cast<float*>(args.y)[unit] = sum;
        break;
      case Then::gate:
        static_cast<Bf16*>(args.y)[unit] = from_float<Bf16>(activated(args.activation, sum) * partner);
        break;
    }
  }
};

template <class Own>
__global__ void __launch_bounds__(Own::kThreads, Own::kBlocks) gemv_kernel(GemvArgs args) {
  constexpr int kItems = Own::kItems;
  constexpr int kBatch = Own::kBatch;
  constexpr int kWarps = Own::kThreads / 32;
  __shared__ float scratch[33];
  __shared__ float partial[2][kWarps][kBatch];
  Task<Own> task(args);
  release_next();
#pragma unroll
  for (int slot = 0; slot < kBatch; ++slot)
#pragma unroll
    for (int item = 0; item < kItems; ++item) task.fetch(task.first, slot, item);
  wait_for_previous();
  typename Own::Weights::X x[kItems];
  const float factor = task.load_x(scratch, x);

  // The first threads of the block finish a batch, one output each.
  const int own = threadIdx.x;
  const int lane = threadIdx.x % 32;
  int buffer = 0;
  for (int unit = task.first; unit < task.last; unit += task.units, buffer ^= 1) {
    const bool ends = own < task.units && task.has(unit, own);
    Ending ending;
    if (ends) ending = task.load_ending(unit, own);
    float sums[kBatch] = {};
#pragma unroll
    for (int slot = 0; slot < kBatch; ++slot) {
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        sums[slot] = Own::Weights::dot(x[item], task.w[slot][item], sums[slot]);
        task.fetch(unit + task.units, slot, item);
      }
    }
    const float sum = fold(sums);
    if (lane % (32 / kBatch) == 0) partial[buffer][threadIdx.x / 32][lane / (32 / kBatch)] = sum;
    __syncthreads();
    if (!ends) continue;
    const auto total = [&](int slot) {
      float all = 0;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) all += partial[buffer][i][slot];
      return all * factor;
    };
    const float partner = task.gated ? total(own + task.units) * ending.partner_scale : 0;
    float value = total(own) * ending.scale;
    if (args.then == Then::add) value = to_float(ending.before) + args.scale * value;
    task.finish(unit + own, value, partner);
  }
}

template <class Weights, int kItems, int kThreads, int kBlocks>
void launch(StreamHandle stream, const GemvArgs& args) {
  const int most = num_multiprocessors() * kBlocks;
  const int units = args.then == Then::gate ? args.out / 2 : args.out;
  const LaunchShape shape{dim3(static_cast<unsigned>(units < most ? units : most)), kThreads, 0};
  launch_early(gemv_kernel<Shape<Weights, kItems, kThreads, kBlocks>>, shape, stream, args);
}

template <class Weights>
void launch_items(StreamHandle stream, const GemvArgs& args) {
  const int chunks = args.cols / Weights::kChunk;
  if (chunks <= 256) return launch<Weights, 1, 256, 2>(stream, args);
  if (chunks <= 512) return launch<Weights, 2, 256, 4>(stream, args);
  if (chunks <= 1024) return launch<Weights, 2, 512, 1>(stream, args);
  launch<Weights, 4, 512, 1>(stream, args);
}

}  // namespace

bool gemv_takes(int cols) {
  return cols % Quantized::kChunk == 0 && cols <= 512 * 4 * Plain::kChunk;
}

void gemv(StreamHandle stream, const GemvArgs& args) {
  if (args.w_scales != nullptr)
    launch_items<Quantized>(stream, args);
  else
    launch_items<Plain>(stream, args);
}

}  // namespace kvasir::ops::cuda

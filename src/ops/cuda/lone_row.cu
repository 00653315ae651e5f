#include <cuda_pipeline_primitives.h>

#include "ops/cuda/activated.cuh"
#include "ops/cuda/lone_attention.cuh"
#include "ops/cuda/weights.cuh"

namespace kvasir::ops::cuda {
namespace {

// One product of a step. All pointers but `x` and `before` are to what no phase writes.
struct LoneTask {
  LoneProduct product;
  int cols;
  const void* x;        // [cols], as bf16
  const float* norm;    // [cols], or null
  const float* scales;  // of the weights' rows, or null
  const void* before;   // what the result is added to, or null
};

// Products of a lane's weights with its part of x, summed by the matrix units: weights stand in the rows of a
// matrix and x in the columns of another, each of four neighbouring lanes in one, and of what comes of them
// only the diagonal is wanted. The units are fast enough to waste the rest, and nothing has to be unpacked.
struct DiagonalSum {
  float c[4] = {};

  template <class Weights>
  __device__ void add(const typename Weights::X& x, const uint4& w) {
    if constexpr (Weights::kChunk == 8) {
      Bf16Fragments::multiply(c, {w.x, 0, w.y, 0}, x.parts[0].x, x.parts[0].y);
      Bf16Fragments::multiply(c, {w.z, 0, w.w, 0}, x.parts[0].z, x.parts[0].w);
    } else {
      add4(x.parts[0].x, x.parts[0].y, w.x);
      add4(x.parts[0].z, x.parts[0].w, w.y);
      add4(x.parts[1].x, x.parts[1].y, w.z);
      add4(x.parts[1].z, x.parts[1].w, w.w);
    }
  }
  __device__ void add4(uint32_t odd, uint32_t even, uint32_t w) {
    const uint2 pairs = widen_e4m3(w);
    E4m3Fragments::multiply(c, {pairs.x, 0, pairs.y, 0}, odd, even);
  }

  // What the lane has of the diagonal.
  __device__ float own() const {
    const int lane = threadIdx.x % 32;
    const int row = lane / 4;
    if (lane % 4 != row / 2) return 0;
    return row % 2 == 0 ? c[0] : c[1];
  }
};

template <class Layers, class Step>
class LoneRow {
 public:
  __device__ LoneRow(const LoneKernelArgs& args, LoneShared& shared)
      : args_(args),
        shared_(shared),
        supply_(args, shared.ring[threadIdx.x / 32][0], shared.ready[threadIdx.x / 32]),
        grid_{args.counters} {}

  __device__ void run() {
    const int position = args_.positions[0];
    load_layer(0);
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = 0; i < args_.num_layers; ++i) {
      const LoneLayer& layer = shared_.layers[i % 2];
      if (i + 1 < args_.num_layers) load_layer(i + 1);
      run_layer(layer, position);
    }
    auto* logits = args_.logits;
    multiply<Plain>({kLoneVocabulary, args_.hidden, args_.state, args_.output_norm, nullptr, nullptr},
                    [&](int unit, float sum, float, float) { logits[unit] = sum; });
    leave();
  }

 private:
  __device__ void run_layer(const LoneLayer& layer, int position) {
    auto* state = static_cast<Bf16*>(args_.state);
    auto* qkv = static_cast<Bf16*>(args_.qkv);
    auto* between = static_cast<Bf16*>(args_.between);
    const float scale = args_.residual_scale;
    const auto add = [&](int unit, float sum, float, float before) {
      state[unit] = from_float<Bf16>(before + scale * sum);
    };
    LoneAttention<Step>(args_, shared_, layer, position).prefetch();
    multiply<Layers>(
        {kLoneQkv, args_.hidden, state, layer.attention_norm, layer.scales[kLoneQkv], layer.qkv_bias},
        [&](int unit, float sum, float, float bias) { qkv[unit] = from_float<Bf16>(bias + sum); });
    grid_.wait();
    LoneAttention<Step>(args_, shared_, layer, position).run(grid_);
    grid_.target += args_.num_kv_heads;
    multiply<Layers>(
        {kLoneOut, args_.num_heads * Step::kDim, args_.attention, nullptr, layer.scales[kLoneOut], state},
        add);
    multiply<Layers>({kLoneUp, args_.hidden, state, layer.mlp_norm, layer.scales[kLoneUp], nullptr},
                     [&](int unit, float sum, float partner, float) {
                       between[unit] = from_float<Bf16>(activated(args_.activation, sum) * partner);
                     });
    __pipeline_wait_prior(0);  // the next layer's description is there for all behind the next barrier
    multiply<Layers>({kLoneDown, args_.inner, between, nullptr, layer.scales[kLoneDown], state}, add);
  }

  // Without waiting for it.
  __device__ void load_layer(int index) {
    constexpr int kParts = sizeof(LoneLayer) / 16;
    static_assert(sizeof(LoneLayer) % 16 == 0);
    if (threadIdx.x < kParts)
      __pipeline_memcpy_async(reinterpret_cast<uint4*>(&shared_.layers[index % 2]) + threadIdx.x,
                              reinterpret_cast<const uint4*>(args_.layers + index) + threadIdx.x, 16);
    __pipeline_commit();
  }

  // Waits for the phase before, multiplies, and gives each result to `end` of one lane: the sum of a row,
  // behind a gate of its partner too, and what stood in its place before.
  template <class Weights, class End>
  __device__ void multiply(const LoneTask& task, const End& end) {
    const LoneShape& shape = args_.shapes[task.product];
    const int gate = shape.partner_bytes != 0 ? shape.units : 0;
    const auto scale_of = [&](int row, bool there) {
      return task.scales != nullptr && there ? task.scales[row] : 1.0f;
    };
    int unit = LoneSupply::first_unit();
    // What comes from memory is asked for one unit before it is wanted, for weights stand in its way.
    float next_scale = scale_of(unit, unit < shape.units);
    float next_partner_scale = scale_of(unit + gate, gate != 0 && unit < shape.units);
    const float factor = load_x<Weights>(task);
    const int chunks = task.cols / Weights::kChunk;
    for (; unit < shape.units; unit += LoneSupply::stride()) {
      const float scale = next_scale * factor;
      const float partner_scale = next_partner_scale * factor;
      const int next = unit + LoneSupply::stride();
      next_scale = scale_of(next, next < shape.units);
      next_partner_scale = scale_of(next + gate, gate != 0 && next < shape.units);
      Bf16 before = from_float<Bf16>(0);
      if (task.before != nullptr) before = load_fresh(static_cast<const Bf16*>(task.before) + unit);
      const float sum = row_sum<Weights>(shape, chunks) * scale;
      const float partner = gate != 0 ? row_sum<Weights>(shape, chunks) * partner_scale : 0;
      if (threadIdx.x % 32 == 0) end(unit, sum, partner, to_float(before));
    }
    grid_.arrive();
    grid_.target += static_cast<int>(gridDim.x);
  }

  __device__ static Bf16 load_fresh(const Bf16* from) {
    const unsigned short bits = __ldcg(reinterpret_cast<const unsigned short*>(from));
    return __ushort_as_bfloat16(bits);
  }

  // The next row of weights times x.
  template <class Weights>
  __device__ float row_sum(const LoneShape& shape, int chunks) {
    DiagonalSum sums[2];
    const int piece_chunks = shape.piece_bytes / 16;
    for (int piece = 0; piece < shape.pieces; ++piece) {
      const uint4* w = supply_.await();
      const uint4* x = shared_.x + piece * piece_chunks;
      if (piece_chunks == 8 * 32)
        add_products<Weights, 8>(x, chunks, w, sums);
      else if (piece_chunks == 7 * 32)
        add_products<Weights, 7>(x, chunks, w, sums);
      else
        for (int i = 0; i < piece_chunks; i += 32)
          add_products<Weights, 1>(x + i, chunks, w + i, sums, piece_chunks - i);
      supply_.release();
    }
    return warp_sum(sums[0].own() + sums[1].own());
  }

  // Of `count` chunks, a lane takes every 32nd.
  template <class Weights, int kRounds>
  __device__ static void add_products(const uint4* x, int chunks, const uint4* w, DiagonalSum (&sums)[2],
                                      int count = 32 * kRounds) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      const int c = 32 * i + lane;
      const bool there = kRounds > 1 || c < count;
      const uint4 none = make_uint4(0, 0, 0, 0);
      typename Weights::X parts;
      parts.parts[0] = there ? x[c] : none;
      if constexpr (Weights::kChunk == 16) parts.parts[1] = there ? x[chunks + c] : none;
      sums[i % 2].template add<Weights>(parts, there ? w[c] : none);
    }
  }

  // Waits for the phase before, and packs what it made; gives what products with it are to be multiplied
  // with.
  template <class Weights>
  __device__ float load_x(const LoneTask& task) {
    constexpr int kItems = kLoneMaxCols / 8 / kLoneThreads;
    constexpr bool kIsQuantized = Weights::kChunk == 16;
    const int eights = task.cols / 8;
    float norm[kItems][8];
    if (task.norm != nullptr) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const int c = threadIdx.x + i * kLoneThreads;
        if (c < eights) load8(task.norm + 8 * c, norm[i]);
      }
    }
    grid_.wait();
    float x[kItems][8] = {};
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int c = threadIdx.x + i * kLoneThreads;
      if (c >= eights) continue;
      const uint4 eight = __ldcg(static_cast<const uint4*>(task.x) + c);
      load8(reinterpret_cast<const Bf16*>(&eight), x[i]);
#pragma unroll
      for (const float value : x[i]) squares += value * value;
    }
    if (task.norm != nullptr) {
      const float factor = rsqrtf(block_sum(squares, shared_.scratch) / task.cols + args_.eps);
#pragma unroll
      for (int i = 0; i < kItems; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          if (static_cast<int>(threadIdx.x) + i * kLoneThreads < eights) x[i][j] *= factor * norm[i][j];
    }
    float largest = 1;
    if constexpr (kIsQuantized) {
      largest = 1e-20f;
#pragma unroll
      for (int i = 0; i < kItems; ++i)
#pragma unroll
        for (const float value : x[i]) largest = fmaxf(largest, fabsf(value));
      largest = block_max(largest, shared_.scratch);
#pragma unroll
      for (int i = 0; i < kItems; ++i)
#pragma unroll
        for (float& value : x[i]) value *= 1 / largest;
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int c = threadIdx.x + i * kLoneThreads;
      if (c < eights) shared_.x[kIsQuantized ? c % 2 * (eights / 2) + c / 2 : c] = Weights::pack8(x[i]);
    }
    __syncthreads();
    return largest;
  }

  // The last block leaves the counters as it found them: nobody waits any more.
  __device__ void leave() const {
    if (threadIdx.x != 0) return;
    std::int32_t* counters = args_.counters;
    __threadfence();
    if (atomicAdd(counters + 1, 1) != static_cast<int>(gridDim.x) - 1) return;
    counters[0] = 0;
    counters[1] = 0;
  }

  const LoneKernelArgs& args_;
  LoneShared& shared_;
  LoneSupply supply_;
  LoneGrid grid_;
};

template <class Layers, class Step>
__global__ void __launch_bounds__(kLoneThreads, 1)
    lone_row_kernel(const __grid_constant__ LoneKernelArgs args) {
  extern __shared__ __align__(128) unsigned char memory[];
  LoneRow<Layers, Step>(args, *reinterpret_cast<LoneShared*>(memory)).run();
}

template <class Layers, class Step>
void launch_lone(StreamHandle stream, const LoneKernelArgs& args) {
  constexpr auto* kKernel = lone_row_kernel<Layers, Step>;
  constexpr int kBytes = sizeof(LoneShared);
  static const bool raised =
      cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) == cudaSuccess;
  if (raised) {
    cudaLaunchAttribute together{};  // blocks wait for each other
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(num_multiprocessors()));
    config.blockDim = dim3(kLoneThreads);
    config.dynamicSmemBytes = kBytes;
    config.stream = stream;
    config.attrs = &together;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kKernel, args);
  }
  check_launch();
}

// As few pieces as fit, best such that all lanes have as much to do.
LoneShape shape_of(int rows, int row_bytes, bool gated) {
  LoneShape shape{.units = gated ? rows / 2 : rows, .row_bytes = row_bytes};
  if (gated) shape.partner_bytes = std::int64_t{shape.units} * row_bytes;
  for (const int unit : {32 * 16, 16}) {
    for (int pieces = (row_bytes + kLoneSlotBytes - 1) / kLoneSlotBytes; pieces <= row_bytes / unit;
         ++pieces) {
      if (row_bytes % (pieces * unit) != 0) continue;
      shape.pieces = pieces;
      shape.piece_bytes = row_bytes / pieces;
      return shape;
    }
  }
  return shape;
}

template <class Layers>
void launch_kv(StreamHandle stream, const LoneKernelArgs& args) {
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch_lone<Layers, WarpStep<64, Bf16Fragments>>(stream, args);
  if (args.head_dim == 64 && quantized) launch_lone<Layers, WarpStep<64, E4m3Fragments>>(stream, args);
  if (args.head_dim == 128 && !quantized) launch_lone<Layers, WarpStep<128, Bf16Fragments>>(stream, args);
  if (args.head_dim == 128 && quantized) launch_lone<Layers, WarpStep<128, E4m3Fragments>>(stream, args);
}

}  // namespace

std::size_t lone_partial_floats(int head_dim) {
  return static_cast<std::size_t>(num_multiprocessors()) * kLoneMaxGroup *
         (static_cast<std::size_t>(head_dim) + 2);
}

bool lone_row_takes(const LoneRowArgs& args) {
  const auto takes_cols = [&](int cols) { return cols % 16 == 0 && cols <= kLoneMaxCols; };
  return architecture() == 90 && (args.head_dim == 64 || args.head_dim == 128) && args.num_kv_heads > 0 &&
         args.num_heads % args.num_kv_heads == 0 && args.num_heads / args.num_kv_heads <= kLoneMaxGroup &&
         args.num_kv_heads <= num_multiprocessors() && 2 + args.num_kv_heads <= kLoneCounters &&
         takes_cols(args.hidden) && takes_cols(args.inner) && takes_cols(args.num_heads * args.head_dim);
}

void run_lone_row(StreamHandle stream, const LoneRowArgs& args) {
  LoneKernelArgs all{args, {}};
  const int bytes = args.quantized ? 1 : 2;
  const int q_size = args.num_heads * args.head_dim;
  const int kv_size = args.num_kv_heads * args.head_dim;
  all.shapes[kLoneQkv] = shape_of(q_size + 2 * kv_size, args.hidden * bytes, false);
  all.shapes[kLoneOut] = shape_of(args.hidden, q_size * bytes, false);
  all.shapes[kLoneUp] = shape_of(2 * args.inner, args.hidden * bytes, true);
  all.shapes[kLoneDown] = shape_of(args.hidden, args.inner * bytes, false);
  all.shapes[kLoneVocabulary] = shape_of(args.vocab, args.hidden * 2, false);
  if (args.quantized)
    launch_kv<Quantized>(stream, all);
  else
    launch_kv<Plain>(stream, all);
}

}  // namespace kvasir::ops::cuda

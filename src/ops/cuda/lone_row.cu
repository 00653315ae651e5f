#include <cuda_pipeline_primitives.h>

#include <algorithm>

#include "ops/cuda/activated.cuh"
#include "ops/cuda/lone_attention.cuh"
#include "ops/cuda/lone_input.cuh"
#include "ops/cuda/lone_weights.cuh"

namespace kvasir::ops::cuda {
namespace {

template <class Layers, class Step>
class LoneRow {
 public:
  __device__ LoneRow(const LoneKernelArgs& args, LoneShared& shared)
      : args_(args),
        shared_(shared),
        supply_(args, shared.ring[warp_][0], shared.ready[warp_]),
        first_tag_((*args.num_steps + 1) * (2 * args.num_layers + 3)) {
    std::uint32_t of_layer = args.num_kv_heads;
    for (int i = 0; i < kLoneLayerProducts; ++i) of_layer += parts_of(i);
    num_wanted_ = *args.num_steps * of_layer * args.num_layers;
    if (threadIdx.x == 0) shared.num_done = 0;
  }

  // A single loop over all products keeps the code short enough for the instruction cache.
  __device__ void run() {
    const int position = args_.positions[0];
    load_layer(0);
    load_ropes();
    load_states();
    __pipeline_wait_prior(0);
    __syncthreads();
    const int num_products = args_.num_layers * kLoneLayerProducts;
#pragma unroll 1
    for (int i = 0; i < num_products; ++i) {
      const int index = i / kLoneLayerProducts;
      const LoneLayer& layer = shared_.layers[index % 2];
      const auto product = static_cast<LoneProduct>(i % kLoneLayerProducts);
      if (product == kLoneQkv) {
        if (index + 1 < args_.num_layers) load_layer(index + 1);
        LoneAttention<Step>(args_, shared_, layer, position, first_tag_ + index).prefetch();
      }
      if (product == kLoneOut) {
        const LoneAttention<Step> attention(args_, shared_, layer, position, first_tag_ + index);
        if (attention.has_part()) attention.run([this] { wait(); });
        num_wanted_ += args_.num_kv_heads;
      }
      if (product == kLoneDown) {
        __pipeline_wait_prior(0);
        __syncthreads();  // now all threads see the next layer's description
        if (index + 1 < args_.num_layers) prefetch(kLoneQkv, shared_.layers[(index + 1) % 2]);
      } else {
        prefetch(static_cast<LoneProduct>(product + 1), layer);
      }
      multiply<Layers>(task_of(product, layer, index));
    }
    LoneTask last;
    last.product = kLoneVocabulary;
    last.cols = args_.hidden;
    last.x = args_.state;
    last.tag = first_tag_ + 2 * args_.num_layers;
    last.norm = args_.output_norm;
    multiply<LonePlain>(last);
    leave();
  }

 private:
  struct Ending {
    float scale = 1;
    float bias = 0;
  };

  // The hidden state has two tags in each layer: one before the layer and one between its halves. Everything
  // else has one tag in each layer.
  __device__ LoneTask task_of(LoneProduct product, const LoneLayer& layer, int index) const {
    LoneTask task;
    task.product = product;
    task.cols = args_.hidden;
    if (index > 0 || product != kLoneQkv) task.x = args_.state;
    task.tag = first_tag_ + 2 * index + (product == kLoneUp ? 1 : 0);
    task.to_tag = first_tag_ + index;
    task.scales = layer.scales[product];
    switch (product) {
      case kLoneQkv:
        task.norm = layer.attention_norm;
        task.bias = static_cast<const Bf16*>(layer.qkv_bias);
        task.to = args_.qkv;
        break;
      case kLoneUp:
        task.norm = layer.mlp_norm;
        task.to = args_.between;
        break;
      default: {
        const bool is_out = product == kLoneOut;
        task.cols = is_out ? args_.num_heads * Step::kDim : args_.inner;
        task.x = is_out ? args_.attention : args_.between;
        task.tag = first_tag_ + index;
        task.to = args_.state;
        task.to_tag = first_tag_ + 2 * index + (is_out ? 1 : 2);
      }
    }
    return task;
  }

  // Starts to load a layer's description, without waiting for it.
  __device__ void load_layer(int index) {
    constexpr int kParts = sizeof(LoneLayer) / 16;
    static_assert(sizeof(LoneLayer) % 16 == 0);
    if (threadIdx.x < kParts)
      __pipeline_memcpy_async(reinterpret_cast<uint4*>(&shared_.layers[index % 2]) + threadIdx.x,
                              reinterpret_cast<const uint4*>(args_.layers + index) + threadIdx.x, 16);
    __pipeline_commit();
  }

  __device__ void load_ropes() {
    for (int i = 0; i < 2; ++i)
      if (static_cast<int>(threadIdx.x) < 2 * args_.ropes[i].num_pairs)
        shared_.ropes[i][threadIdx.x] = args_.ropes[i].table[threadIdx.x];
  }

  // Loads the rows of the hidden state that the warp will add to.
  __device__ void load_states() {
    const int unit = LoneSupply::first_unit() + lane_ * LoneSupply::stride();
    if (lane_ < kLoneOwnRows && unit < args_.hidden)
      shared_.states[warp_][lane_] = to_float(static_cast<const Bf16*>(args_.embedding)[unit]);
  }

  template <class Weights>
  __device__ __forceinline__ void multiply(const LoneTask& task) {
    const LoneShape& shape = args_.shapes[task.product];
    const std::uint32_t num_wanted = num_wanted_ + parts_of(task.product);
    if (static_cast<int>(blockIdx.x) >= shape.units) {  // no other block waits for this one
      num_wanted_ = num_wanted;
      return;
    }
    int unit = LoneSupply::first_unit();
    Ending endings = endings_of(task, shape, unit);
    const float factor = load_lone_x<Weights>(args_, shared_, task, [this] { wait(); });
    num_wanted_ = num_wanted;
    const int chunks = task.cols / Weights::kChunk;
    const int step = step_of(shape);
#pragma unroll 1
    for (int index = 0; unit < shape.units; unit += step, index += 2) {
      if (index % 32 == 0 && index > 0) endings = endings_of(task, shape, unit);
      const bool has_two = shape.gated || unit + LoneSupply::stride() < shape.units;
      const float2 sums = row_sums<Weights>(shape, chunks, has_two);
      const int from = index % 32 + lane_ % 2;
      const Ending own{__shfl_sync(0xffffffffu, endings.scale, from),
                       __shfl_sync(0xffffffffu, endings.bias, from)};
      end(task, own, unit, index, (lane_ % 2 == 0 ? sums.x : sums.y) * factor, has_two);
    }
    if (task.product == kLoneVocabulary) return;
    if (lane_ == 0 && atomicAdd_block(&shared_.num_done, 1) == kLoneWarps - 1) {
      shared_.num_done = 0;
      count_given(args_.num_given);
    }
  }

  // Finishes a pair of rows. All lanes must call this; the first two finish one row each.
  __device__ void end(const LoneTask& task, const Ending& own, int unit, int index, float sum, bool has_two) {
    float value = sum * own.scale + own.bias;
    const float partner = __shfl_down_sync(0xffffffffu, value, 1);
    if (lane_ > (has_two && task.product != kLoneUp ? 1 : 0)) return;
    if (lane_ == 1) unit += LoneSupply::stride();
    if (task.product == kLoneVocabulary) {
      args_.logits[unit] = value;
      return;
    }
    if (task.product == kLoneUp) {
      value = activated(args_.activation, value) * partner;
    } else if (task.to == args_.state) {
      value = shared_.states[warp_][index + lane_] + args_.residual_scale * value;
      shared_.states[warp_][index + lane_] = value;
    }
    publish(task.to + unit, value, task.to_tag);
  }

  // The distance between a warp's pairs of rows.
  __device__ static int step_of(const LoneShape& shape) {
    return (shape.gated ? 1 : 2) * LoneSupply::stride();
  }

  // The lane's row among the next 16 pairs, or -1 if it has none.
  __device__ int row_of_lane(const LoneShape& shape, int unit) const {
    unit += lane_ / 2 * step_of(shape);
    const int row = lane_ % 2 == 0 ? unit : unit + (shape.gated ? shape.units : LoneSupply::stride());
    return unit < shape.units && row < (shape.gated ? 2 : 1) * shape.units ? row : -1;
  }

  __device__ Ending endings_of(const LoneTask& task, const LoneShape& shape, int unit) const {
    Ending ending;
    const int row = row_of_lane(shape, unit);
    if (row < 0) return ending;
    if (task.scales != nullptr) ending.scale = task.scales[row];
    if (task.bias != nullptr) ending.bias = to_float(task.bias[row]);
    return ending;
  }

  // Prefetches the small inputs of a product early. A load that waited behind all the requested weights would
  // take long.
  __device__ void prefetch(LoneProduct product, const LoneLayer& layer) const {
    const int row = row_of_lane(args_.shapes[product], LoneSupply::first_unit());
    const float* scales = layer.scales[product];
    if (scales != nullptr && row >= 0) prefetch_line(scales + row);
    if (product == kLoneQkv && layer.qkv_bias != nullptr && row >= 0)
      prefetch_line(static_cast<const Bf16*>(layer.qkv_bias) + row);
    const float* norm = product == kLoneQkv  ? layer.attention_norm
                        : product == kLoneUp ? layer.mlp_norm
                                             : nullptr;
    constexpr int kLine = 32;
    if (norm != nullptr && static_cast<int>(threadIdx.x) * kLine < args_.hidden)
      prefetch_line(norm + threadIdx.x * kLine);
  }

  // The number of thread blocks that contribute to a product.
  __device__ std::uint32_t parts_of(int product) const {
    return min(static_cast<std::uint32_t>(args_.shapes[product].units), gridDim.x);
  }

  // Waits until everything that is wanted is there, or about to be. By then all warps have finished their
  // work before the call.
  __device__ void wait() const {
    if (threadIdx.x == 0)
      while (static_cast<std::int32_t>(peek(args_.num_given) - num_wanted_) < 0) {
      }
    __syncthreads();
  }

  // Multiplies the next two rows of weights by x. Only the first result counts if there is no second row.
  template <class Weights>
  __device__ __forceinline__ float2 row_sums(const LoneShape& shape, int chunks, bool has_two) {
    constexpr int kRounds = 2;  // rounds at once
    PairOfSums sums[2];
    const int piece_chunks = shape.piece_bytes / 16;
    const uint4* x = shared_.x + lane_;
#pragma unroll 1
    for (int piece = 0; piece < shape.pieces; ++piece) {
      const uint4* a = supply_.await() + lane_;
      const uint4* b = has_two ? supply_.await_second() + lane_ : a;  // if `a`, its result is ignored
      int left = piece_chunks;
#pragma unroll 1
      for (; left >= 32 * kRounds; left -= 32 * kRounds) {
#pragma unroll
        for (int i = 0; i < kRounds; ++i)
          Weights::multiply(sums[i % 2], a[32 * i], b[32 * i], x + 32 * i, chunks);
        a += 32 * kRounds, b += 32 * kRounds, x += 32 * kRounds;
      }
#pragma unroll 1
      for (; left > 0; left -= 32) {
        // Lanes past the end use zero weights. The numbers that these multiply are arbitrary but finite.
        const uint4 none = make_uint4(0, 0, 0, 0);
        const bool there = lane_ < left;
        Weights::multiply(sums[0], there ? *a : none, there ? *b : none, there ? x : shared_.x,
                          there ? chunks : 0);
        a += 32, b += 32, x += 32;
      }
      x += left;  // back to where the next piece begins
      supply_.release(has_two ? 2 : 1);
    }
    const float2 one = sums[0].own();
    const float2 other = sums[1].own();
    return make_float2(warp_sum(one.x + other.x), warp_sum(one.y + other.y));
  }

  // The last thread block to leave counts the step, which changes the tags for the next one.
  __device__ void leave() const {
    if (threadIdx.x != 0) return;
    if (atomicAdd(args_.num_left, 1) != gridDim.x - 1) return;
    *args_.num_left = 0;
    ++*args_.num_steps;
  }

  const LoneKernelArgs& args_;
  LoneShared& shared_;
  const int warp_ = threadIdx.x / 32;
  const int lane_ = threadIdx.x % 32;
  LoneSupply supply_;
  const std::uint32_t first_tag_;
  std::uint32_t num_wanted_ = 0;  // the value of args.num_given that the next phase waits for
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
    cudaLaunchAttribute together{};  // thread blocks wait for each other
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

// Divides a row into as few pieces as fit, if possible such that all lanes have the same work. Small pieces
// are avoided, since too few bytes would be under way.
LoneShape shape_of(int rows, int row_bytes, bool gated) {
  LoneShape shape{.units = gated ? rows / 2 : rows, .gated = gated, .row_bytes = row_bytes};
  for (const int unit : {32 * 16, 16}) {
    for (int pieces = (row_bytes + kLoneSlotBytes - 1) / kLoneSlotBytes; pieces <= row_bytes / unit;
         ++pieces) {
      if (row_bytes % (pieces * unit) != 0) continue;
      if (pieces > 1 && row_bytes / pieces < kLoneMinPieceBytes) break;
      shape.pieces = pieces;
      shape.piece_bytes = row_bytes / pieces;
      return shape;
    }
  }
  return shape;
}

void choose_shapes(LoneKernelArgs& args) {
  const int bytes = args.quantized ? 1 : 2;
  const int q_size = args.num_heads * args.head_dim;
  const int kv_size = args.num_kv_heads * args.head_dim;
  args.shapes[kLoneQkv] = shape_of(q_size + 2 * kv_size, args.hidden * bytes, false);
  args.shapes[kLoneOut] = shape_of(args.hidden, q_size * bytes, false);
  args.shapes[kLoneUp] = shape_of(2 * args.inner, args.hidden * bytes, true);
  args.shapes[kLoneDown] = shape_of(args.hidden, args.inner * bytes, false);
  args.shapes[kLoneVocabulary] = shape_of(args.vocab, args.hidden * 2, false);
}

template <class Layers>
void launch_kv(StreamHandle stream, const LoneKernelArgs& args) {
  const bool quantized = args.kv == KvNumbers::e4m3;
  if (args.head_dim == 64 && !quantized) launch_lone<Layers, WarpStep<64, Bf16Fragments>>(stream, args);
  if (args.head_dim == 64 && quantized) launch_lone<Layers, WarpStep<64, E4m3Fragments>>(stream, args);
  if (args.head_dim == 128 && !quantized) launch_lone<Layers, WarpStep<128, Bf16Fragments>>(stream, args);
  if (args.head_dim == 128 && quantized) launch_lone<Layers, WarpStep<128, E4m3Fragments>>(stream, args);
}

// Divides args.exchange into its parts, and returns its size in bytes.
std::size_t lay_out(LoneKernelArgs& args) {
  const int q_size = args.num_heads * args.head_dim;
  std::size_t bytes = 0;
  const auto place = [&](auto*& pointer, std::int64_t count) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(args.exchange + bytes);
    bytes += (static_cast<std::size_t>(count) * sizeof(*pointer) + 127) / 128 * 128;
  };
  place(args.state, args.hidden);
  place(args.qkv, q_size + 2 * args.num_kv_heads * args.head_dim);
  place(args.attention, q_size);
  place(args.between, args.inner);
  place(args.partials, std::int64_t{num_multiprocessors()} * kLoneMaxGroup * (args.head_dim + 2));
  place(args.num_steps, 1);
  place(args.num_given, 1);
  place(args.num_left, 1);
  return bytes;
}

}  // namespace

std::size_t lone_exchange_bytes(const LoneRowArgs& args) {
  LoneKernelArgs all{args};
  return lay_out(all);
}

bool lone_row_takes(const LoneRowArgs& args) {
  const auto takes_cols = [&](int cols) { return cols % 16 == 0 && cols <= kLoneMaxCols; };
  const bool takes_sizes =
      architecture() == 90 && (args.head_dim == 64 || args.head_dim == 128) && args.num_kv_heads > 0 &&
      args.num_heads % args.num_kv_heads == 0 && args.num_heads / args.num_kv_heads <= kLoneMaxGroup &&
      args.num_kv_heads <= num_multiprocessors() && takes_cols(args.hidden) &&
      args.hidden <= kLoneMaxHidden && takes_cols(args.inner) && takes_cols(args.num_heads * args.head_dim) &&
      args.hidden <= kLoneOwnRows * kLoneWarps * num_multiprocessors();
  if (!takes_sizes) return false;
  LoneKernelArgs all{args};
  choose_shapes(all);
  return std::ranges::all_of(all.shapes, [](const LoneShape& shape) { return shape.pieces > 0; });
}

void run_lone_row(StreamHandle stream, const LoneRowArgs& args) {
  LoneKernelArgs all{args};
  lay_out(all);
  choose_shapes(all);
  if (args.quantized)
    launch_kv<LoneQuantized>(stream, all);
  else
    launch_kv<LonePlain>(stream, all);
}

std::uint32_t count_lone_steps(StreamHandle stream, const LoneRowArgs& args) {
  LoneKernelArgs all{args};
  lay_out(all);
  std::uint32_t count = 0;
  cudaMemcpyAsync(&count, all.num_steps, sizeof count, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  check_launch();
  return count;
}

}  // namespace kvasir::ops::cuda

#include <cuda_pipeline_primitives.h>

#include "ops/cuda/activated.cuh"
#include "ops/cuda/lone_attention.cuh"
#include "ops/cuda/weights.cuh"

namespace kvasir::ops::cuda {
namespace {

// One product of a step.
struct LoneTask {
  LoneProduct product = kLoneQkv;
  int cols = 0;
  const std::uint32_t* x = nullptr;  // [cols], words with `tag`
  std::uint32_t tag = 0;
  const float* norm = nullptr;    // [cols], or null
  const float* scales = nullptr;  // of the weights' rows, or null
  const Bf16* bias = nullptr;     // likewise
  std::uint32_t* to = nullptr;    // null: logits
  std::uint32_t to_tag = 0;
};

// Products of a lane's weights with its part of x, summed by the matrix units: weights stand in the rows of a
// matrix and x in the columns of another, each of four neighbouring lanes in one, and of what comes of them
// only the diagonal is wanted. The units are fast enough to waste the rest, and nothing has to be unpacked.
struct DiagonalSum {
  float c[4] = {};

  template <class Weights>
  __device__ __forceinline__ void add(const typename Weights::X& x, const uint4& w) {
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
  __device__ __forceinline__ void add4(uint32_t odd, uint32_t even, uint32_t w) {
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
        supply_(args, shared.ring[warp_][0], shared.ready[warp_]),
        first_tag_((*args.num_steps + 1) * (2 * args.num_layers + 3)) {
    std::uint32_t of_layer = args.num_kv_heads;
    for (int i = 0; i < kLoneLayerProducts; ++i) of_layer += parts_of(i);
    num_wanted_ = *args.num_steps * of_layer * args.num_layers;
    if (threadIdx.x == 0) shared.num_done = 0;
  }

  // One loop over all products keeps the code so short that the instructions' cache holds it.
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
      multiply<Layers>(task_of(product, layer, index));
      if (product == kLoneDown) {
        __pipeline_wait_prior(0);
        __syncthreads();  // the next layer's description is there for all
      }
    }
    LoneTask last;
    last.product = kLoneVocabulary;
    last.cols = args_.hidden;
    last.x = args_.state;
    last.tag = first_tag_ + 2 * args_.num_layers;
    last.norm = args_.output_norm;
    multiply<Plain>(last);
    leave();
  }

 private:
  struct Ending {
    float scale = 1;
    float partner_scale = 1;
    float bias = 0;
  };

  // The hidden state has a tag before each layer and one between its halves, everything else one a layer.
  __device__ LoneTask task_of(LoneProduct product, const LoneLayer& layer, int index) const {
    LoneTask task;
    task.product = product;
    task.cols = args_.hidden;
    task.x = args_.state;
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

  // Without waiting for it.
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

  // Those rows of the hidden state that the warp will add to.
  __device__ void load_states() {
    const int unit = LoneSupply::first_unit() + lane_ * LoneSupply::stride();
    if (lane_ < kLoneOwnRows && unit < args_.hidden)
      shared_.states[warp_][lane_] = to_float(static_cast<const Bf16*>(args_.embedding)[unit]);
  }

  template <class Weights>
  __device__ __forceinline__ void multiply(const LoneTask& task) {
    const LoneShape& shape = args_.shapes[task.product];
    const std::uint32_t num_wanted = num_wanted_ + parts_of(task.product);
    if (static_cast<int>(blockIdx.x) >= shape.units) {  // nobody waits for this block
      num_wanted_ = num_wanted;
      return;
    }
    const int gate = shape.partner_bytes != 0 ? shape.units : 0;
    int unit = LoneSupply::first_unit();
    // What comes from memory is asked for one unit before it is wanted, for weights stand in its way.
    Ending next = ending_of(task, shape, unit, gate);
    const float factor = load_x<Weights>(task);
    num_wanted_ = num_wanted;
    const int chunks = task.cols / Weights::kChunk;
#pragma unroll 1
    for (int index = 0; unit < shape.units; unit += LoneSupply::stride(), ++index) {
      const Ending own = next;
      next = ending_of(task, shape, unit + LoneSupply::stride(), gate);
      float sum = 0;
      float partner = 0;
#pragma unroll 1
      for (int row = gate != 0 ? 0 : 1; row < 2; ++row) {
        sum = partner;
        partner = row_sum<Weights>(shape, chunks) * factor;
      }
      if (lane_ == 0) end(task, own, unit, index, sum, partner);
      __syncwarp();
    }
    if (task.product == kLoneVocabulary) return;
    if (lane_ == 0 && atomicAdd_block(&shared_.num_done, 1) == kLoneWarps - 1) {
      shared_.num_done = 0;
      count_given(args_.num_given);
    }
  }

  // A unit's last row stands in `last`, that before it behind a gate in `first`.
  __device__ void end(const LoneTask& task, const Ending& own, int unit, int index, float first, float last) {
    float value = last * own.scale + own.bias;
    if (task.product == kLoneVocabulary) {
      args_.logits[unit] = value;
      return;
    }
    if (task.product == kLoneUp) {
      value = activated(args_.activation, first * own.scale) * (last * own.partner_scale);
    } else if (task.to == args_.state) {
      value = shared_.states[warp_][index] + args_.residual_scale * value;
      shared_.states[warp_][index] = value;
    }
    publish(task.to + unit, value, task.to_tag);
  }

  __device__ static Ending ending_of(const LoneTask& task, const LoneShape& shape, int unit, int gate) {
    Ending ending;
    if (unit >= shape.units) return ending;
    if (task.scales != nullptr) {
      ending.scale = task.scales[unit];
      if (gate != 0) ending.partner_scale = task.scales[unit + gate];
    }
    if (task.bias != nullptr) ending.bias = to_float(task.bias[unit]);
    return ending;
  }

  // Thread blocks that give something of a product.
  __device__ std::uint32_t parts_of(int product) const {
    return min(static_cast<std::uint32_t>(args_.shapes[product].units), gridDim.x);
  }

  // Until all that was to be given is there, or about to be. All warps are done with what they did before.
  __device__ void wait() const {
    if (threadIdx.x == 0)
      while (static_cast<std::int32_t>(peek(args_.num_given) - num_wanted_) < 0) {
      }
    __syncthreads();
  }

  // The next row of weights times x.
  template <class Weights>
  __device__ __forceinline__ float row_sum(const LoneShape& shape, int chunks) {
    constexpr int kRounds = 4;  // at once
    DiagonalSum sums[2];
    const int piece_chunks = shape.piece_bytes / 16;
    const uint4* x = shared_.x + lane_;
#pragma unroll 1
    for (int piece = 0; piece < shape.pieces; ++piece) {
      const uint4* w = supply_.await() + lane_;
      int left = piece_chunks;
#pragma unroll 1
      for (; left >= 32 * kRounds; left -= 32 * kRounds, x += 32 * kRounds, w += 32 * kRounds) {
#pragma unroll
        for (int i = 0; i < kRounds; ++i)
          add_product<Weights>(x + 32 * i, chunks, w + 32 * i, true, sums[i % 2]);
      }
#pragma unroll 1
      for (; left > 0; left -= 32, x += 32, w += 32)
        add_product<Weights>(x, chunks, w, lane_ < left, sums[0]);
      x += left;  // back to where the next piece begins
      supply_.release();
    }
    return warp_sum(sums[0].own() + sums[1].own());
  }

  template <class Weights>
  __device__ __forceinline__ static void add_product(const uint4* x, int chunks, const uint4* w, bool there,
                                                     DiagonalSum& sum) {
    const uint4 none = make_uint4(0, 0, 0, 0);
    typename Weights::X parts;
    parts.parts[0] = there ? *x : none;
    if constexpr (Weights::kChunk == 16) parts.parts[1] = there ? x[chunks] : none;
    sum.template add<Weights>(parts, there ? *w : none);
  }

  // Waits for x and packs it; gives what products with it are to be multiplied with.
  template <class Weights>
  __device__ __forceinline__ float load_x(const LoneTask& task) {
    constexpr int kItems = kLoneMaxCols / 8 / kLoneThreads;
    constexpr int kNormed = kLoneMaxHidden / 8 / kLoneThreads;  // of these, the most that are normalised
    constexpr bool kIsQuantized = Weights::kChunk == 16;
    const bool is_normed = task.norm != nullptr;
    const int thread = fresh(threadIdx.x);
    const auto item = [thread](int i) { return thread + i * kLoneThreads; };
    const int eights = task.cols / 8;
    float norm[kNormed][8] = {};
    if (is_normed) {
#pragma unroll
      for (int i = 0; i < kNormed; ++i)
        if (item(i) < eights) load8(task.norm + 8 * item(i), norm[i]);
    }
    uint4 x[kItems];                            // eight numbers of bf16 each
    if (is_normed && task.tag == first_tag_) {  // nothing was added yet
#pragma unroll
      for (int i = 0; i < kItems; ++i)
        if (item(i) < eights) x[i] = static_cast<const uint4*>(args_.embedding)[item(i)];
    } else {
      wait();
      await_x(task, thread, eights, x);
    }
    const auto values_of = [&](int i, float(&values)[8]) {
      load8(reinterpret_cast<const Bf16*>(&x[i]), values);
      if (i >= kNormed || !is_normed) return;
#pragma unroll
      for (int j = 0; j < 8; ++j) values[j] *= norm[i % kNormed][j];
    };
    float squares = 0;
    float largest = 1e-20f;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (item(i) >= eights) continue;
      float values[8];
      load8(reinterpret_cast<const Bf16*>(&x[i]), values);
      if (i < kNormed) {
#pragma unroll
        for (const float value : values) squares += value * value;
      }
      if constexpr (kIsQuantized) {
        values_of(i, values);
#pragma unroll
        for (const float value : values) largest = fmaxf(largest, fabsf(value));
      }
    }
    reduce(squares, largest);
    const float factor = is_normed ? rsqrtf(squares / task.cols + args_.eps) : 1;
    const float step = kIsQuantized ? 1 / largest : factor;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const int c = item(i);
      if (c >= eights) continue;
      float values[8];
      values_of(i, values);
#pragma unroll
      for (float& value : values) value *= step;
      shared_.x[kIsQuantized ? c % 2 * (eights / 2) + c / 2 : c] = Weights::pack8(values);
    }
    __syncthreads();
    return kIsQuantized ? factor * largest : 1;
  }

  template <int kItems>
  __device__ __forceinline__ static void await_x(const LoneTask& task, int thread, int eights,
                                                 uint4 (&x)[kItems]) {
    const auto item = [thread](int i) { return thread + i * kLoneThreads; };
    bool there = false;
    while (!there) {
      uint4 words[kItems][2] = {};
#pragma unroll
      for (int i = 0; i < kItems; ++i)
        if (item(i) < eights)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            words[i][half] = peek(reinterpret_cast<const uint4*>(task.x) + 2 * item(i) + half);
      there = true;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (item(i) >= eights) continue;
        there = there && has_tag(words[i][0], task.tag) && has_tag(words[i][1], task.tag);
        const uint2 low = values_of(words[i][0]);
        const uint2 high = values_of(words[i][1]);
        x[i] = make_uint4(low.x, low.y, high.x, high.y);
      }
    }
  }

  // The sum and the maximum over the thread block, both of numbers that are not negative. All warps are done
  // with what they multiplied before when it returns.
  __device__ void reduce(float& sum, float& largest) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, step);
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    }
    if (lane_ == 0) {
      shared_.scratch[warp_] = sum;
      shared_.scratch[kLoneWarps + warp_] = largest;
    }
    __syncthreads();
    static_assert(kLoneWarps == 8);
    float both = shared_.scratch[lane_ % 16];
#pragma unroll
    for (int step = 4; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, both, step);
      both = lane_ % 16 < kLoneWarps ? both + other : fmaxf(both, other);
    }
    sum = __shfl_sync(0xffffffffu, both, 0);
    largest = __shfl_sync(0xffffffffu, both, kLoneWarps);
  }

  // The last block to leave makes the next step's tags others.
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
  std::uint32_t num_wanted_ = 0;  // of args.num_given, before the next phase begins
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

// Where everything stands in args.exchange; gives the bytes.
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
  return architecture() == 90 && (args.head_dim == 64 || args.head_dim == 128) && args.num_kv_heads > 0 &&
         args.num_heads % args.num_kv_heads == 0 && args.num_heads / args.num_kv_heads <= kLoneMaxGroup &&
         args.num_kv_heads <= num_multiprocessors() && takes_cols(args.hidden) &&
         args.hidden <= kLoneMaxHidden && takes_cols(args.inner) &&
         takes_cols(args.num_heads * args.head_dim) &&
         args.hidden <= kLoneOwnRows * kLoneWarps * num_multiprocessors();
}

void run_lone_row(StreamHandle stream, const LoneRowArgs& args) {
  LoneKernelArgs all{args};
  lay_out(all);
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

#include "ops/cuda/launch.cuh"
#include "ops/cuda/rope.h"

namespace kvasir::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__global__ void rope_table_kernel(RopeTableArgs args) {
  release_next();
  wait_for_previous();
  const int row = blockIdx.x;
  float* cosines = args.table + static_cast<std::int64_t>(row) * 2 * args.num_pairs;
  for (int i = threadIdx.x; i < args.num_pairs; i += blockDim.x) {
    const float angle = static_cast<float>(args.positions[row]) * args.inverse_frequencies[i];
    cosines[i] = cosf(angle) * args.factor;
    cosines[args.num_pairs + i] = sinf(angle) * args.factor;
  }
}

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T a, b;
};

// Two neighbouring pairs of a head, at two places of two numbers each: rotated as neox does it a place has
// the firsts or the seconds of both pairs, otherwise one pair.
struct Pairs {
  int first, second;
  bool crossed;

  __device__ Pairs(const RopeStoreArgs& args, int pair)
      : crossed(args.style == RopeStyle::neox && pair < args.num_pairs) {
    first = crossed ? pair : 2 * pair;
    second = crossed ? pair + args.num_pairs : first + 2;
  }

  template <class T>
  __device__ float4 load(const T* head) const {
    const auto one = *reinterpret_cast<const Two<T>*>(head + first);
    const auto other = *reinterpret_cast<const Two<T>*>(head + second);
    return make_float4(to_float(one.a), to_float(one.b), to_float(other.a), to_float(other.b));
  }
  template <class T>
  __device__ void store(T* head, const float4& x) const {
    *reinterpret_cast<Two<T>*>(head + first) = {from_float<T>(x.x), from_float<T>(x.y)};
    *reinterpret_cast<Two<T>*>(head + second) = {from_float<T>(x.z), from_float<T>(x.w)};
  }
};

__device__ inline void turn(float& a, float& b, float cosine, float sine) {
  const float turned = a * cosine - b * sine;
  b = a * sine + b * cosine;
  a = turned;
}

// Normalised where `norm` is there, then rotated. By one warp.
template <class T, class To>
__device__ void turn_head(const RopeStoreArgs& args, const float* norm, std::int64_t row, const T* from,
                          To* to) {
  const int lane = threadIdx.x % 32;
  const int half = args.head_dim / 2;
  float factor = 1;
  if (norm != nullptr) {
    float squares = 0;
    for (int pair = 2 * lane; pair < half; pair += 64) {
      const float4 x = Pairs(args, pair).load(from);
      squares += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
    }
    factor = rsqrtf(warp_sum(squares) / args.head_dim + args.eps);
  }
  const float* cosines = args.table + row * 2 * args.num_pairs;
  const float* sines = cosines + args.num_pairs;
  for (int pair = 2 * lane; pair < half; pair += 64) {
    const Pairs pairs(args, pair);
    float4 x = pairs.load(from);
    if (norm != nullptr) {
      const float4 weight = pairs.load(norm);
      x = make_float4(x.x * factor * weight.x, x.y * factor * weight.y, x.z * factor * weight.z,
                      x.w * factor * weight.w);
    }
    if (pairs.crossed) {
      turn(x.x, x.z, cosines[pair], sines[pair]);
      turn(x.y, x.w, cosines[pair + 1], sines[pair + 1]);
    } else if (pair < args.num_pairs) {
      turn(x.x, x.y, cosines[pair], sines[pair]);
      turn(x.z, x.w, cosines[pair + 1], sines[pair + 1]);
    }
    pairs.store(to, x);
  }
}

// A warp for each head of a row: queries, keys, values. Blocks hold numbers of type Kv.
template <class T, class Kv>
__global__ void __launch_bounds__(kThreads) rope_store_kernel(RopeStoreArgs args) {
  release_next();
  wait_for_previous();
  const int num_heads = args.num_heads + (args.v != nullptr ? 2 : 1) * args.num_kv_heads;
  const int task = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::int64_t row = task / num_heads;
  if (row >= args.rows) return;
  int head = task % num_heads;
  if (head < args.num_heads) {
    T* q = static_cast<T*>(args.q) + row * args.q_stride + static_cast<std::int64_t>(head) * args.head_dim;
    return turn_head(args, args.q_norm, row, q, q);
  }
  head -= args.num_heads;
  const std::int32_t slot = args.slots[row];
  if (slot < 0) return;
  const std::int64_t block =
      static_cast<std::int64_t>(slot / kBlockTokens) * args.num_kv_heads * args.head_dim * kBlockTokens;
  const int place = slot % kBlockTokens;
  if (head < args.num_kv_heads) {
    const T* k = static_cast<const T*>(args.k) + row * args.kv_stride + head * args.head_dim;
    Kv* to = static_cast<Kv*>(args.k_cache) + block +
             (static_cast<std::int64_t>(head) * kBlockTokens + place) * args.head_dim;
    return turn_head(args, args.k_norm, row, k, to);
  }
  head -= args.num_kv_heads;
  const T* v = static_cast<const T*>(args.v) + row * args.kv_stride + head * args.head_dim;
  Kv* to = static_cast<Kv*>(args.v_cache) + block +
           static_cast<std::int64_t>(head) * args.head_dim * kBlockTokens + place;
  for (int i = 2 * (threadIdx.x % 32); i < args.head_dim; i += 64) {
    const auto two = *reinterpret_cast<const Two<T>*>(v + i);
    to[i * kBlockTokens] = from_float<Kv>(to_float(two.a));
    to[(i + 1) * kBlockTokens] = from_float<Kv>(to_float(two.b));
  }
}

}  // namespace

void make_rope_table(StreamHandle stream, const RopeTableArgs& args) {
  if (args.rows == 0) return;
  launch_early(rope_table_kernel, {dim3(args.rows), 64, 0}, stream, args);
}

void rope_and_store(StreamHandle stream, const RopeStoreArgs& args) {
  if (args.rows == 0) return;
  const int num_heads = args.num_heads + (args.v != nullptr ? 2 : 1) * args.num_kv_heads;
  const dim3 blocks(ceil_div(std::int64_t{args.rows} * num_heads, kWarps));
  const LaunchShape shape{blocks, kThreads, 0};
  if (args.kv == KvNumbers::e4m3) return launch_early(rope_store_kernel<Bf16, E4m3>, shape, stream, args);
  with_type(args.type, [&](auto value) {
    using T = decltype(value);
    launch_early(rope_store_kernel<T, T>, shape, stream, args);
  });
}

}  // namespace kvasir::ops::cuda

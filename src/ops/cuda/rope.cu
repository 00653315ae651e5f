#include "ops/cuda/launch.cuh"
#include "ops/cuda/rope.h"

namespace kvasir::ops::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPairsPerBlock = 4 * kThreads;

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

// Where the two numbers of pair `pair` of a head stand; pairs past the rotated ones are neighbours.
__device__ int2 places(const RopeStoreArgs& args, int pair) {
  if (args.style == RopeStyle::neox && pair < args.num_pairs) return make_int2(pair, pair + args.num_pairs);
  return make_int2(2 * pair, 2 * pair + 1);
}

// A row's pairs in order: queries, keys, values. Blocks hold numbers of type Kv.
template <class T, class Kv>
__global__ void rope_store_kernel(RopeStoreArgs args) {
  release_next();
  wait_for_previous();
  const std::int64_t row = blockIdx.x;
  const int half = args.head_dim / 2;
  const int num_q = args.num_heads * half;
  const int num_k = args.num_kv_heads * half;
  const int num_pairs = num_q + (args.v != nullptr ? 2 : 1) * num_k;
  const std::int32_t slot = args.slots[row];
  const std::int64_t block =
      static_cast<std::int64_t>(slot / kBlockTokens) * args.num_kv_heads * args.head_dim * kBlockTokens;
  const int place = slot % kBlockTokens;
  const float* cosines = args.table + row * 2 * args.num_pairs;
  for (int i = threadIdx.x; i < kPairsPerBlock; i += kThreads) {
    int pair = blockIdx.y * kPairsPerBlock + i;
    if (pair >= num_pairs) return;
    if (pair >= num_q && slot < 0) return;
    if (pair >= num_q + num_k) {
      pair -= num_q + num_k;
      const std::int64_t at = block + static_cast<std::int64_t>(2 * pair) * kBlockTokens + place;
      const T* from = static_cast<const T*>(args.v) + row * args.kv_stride + 2 * pair;
      Kv* to = static_cast<Kv*>(args.v_cache) + at;
      to[0] = from_float<Kv>(to_float(from[0]));
      to[kBlockTokens] = from_float<Kv>(to_float(from[1]));
      continue;
    }
    const bool is_query = pair < num_q;
    if (!is_query) pair -= num_q;
    const int head = pair / half;
    const int2 at = places(args, pair % half);
    const T* from = is_query ? static_cast<const T*>(args.q) + row * args.q_stride
                             : static_cast<const T*>(args.k) + row * args.kv_stride;
    from += head * args.head_dim;
    float a = to_float(from[at.x]);
    float b = to_float(from[at.y]);
    if (pair % half < args.num_pairs) {
      const float c = cosines[pair % half];
      const float s = cosines[args.num_pairs + pair % half];
      const float turned = a * c - b * s;
      b = a * s + b * c;
      a = turned;
    }
    if (is_query) {
      T* to = static_cast<T*>(args.q) + row * args.q_stride + head * args.head_dim;
      to[at.x] = from_float<T>(a);
      to[at.y] = from_float<T>(b);
    } else {
      Kv* to = static_cast<Kv*>(args.k_cache) + block +
               (static_cast<std::int64_t>(head) * kBlockTokens + place) * args.head_dim;
      to[at.x] = from_float<Kv>(a);
      to[at.y] = from_float<Kv>(b);
    }
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
  const dim3 blocks(args.rows, ceil_div(num_heads * (args.head_dim / 2), kPairsPerBlock));
  const LaunchShape shape{blocks, kThreads, 0};
  if (args.kv == KvNumbers::e4m3) return launch_early(rope_store_kernel<Bf16, E4m3>, shape, stream, args);
  with_type(args.type, [&](auto value) {
    using T = decltype(value);
    launch_early(rope_store_kernel<T, T>, shape, stream, args);
  });
}

}  // namespace kvasir::ops::cuda

#include "ops/cuda/rope.cuh"

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

// One warp takes one head of a row, of the queries, keys or values. Blocks hold numbers of type Kv.
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

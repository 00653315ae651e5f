#include "ops/kv_cache.h"

#include <cstring>

#include "base/check.h"
#include "ops/dequantize.h"
#include "ops/split.h"

namespace kvasir::ops {
namespace {

// The numbers of one token of one layer, to its place in a block of keys and, unless null, one of values.
template <class T, T (*kConvert)(float)>
void store_token(const KvLayer& layer, const float* k, const float* v, std::int64_t block, int place) {
  const int dim = layer.head_dim;
  T* keys = reinterpret_cast<T*>(layer.k + block * layer.block_bytes());
  for (int h = 0; h < layer.num_kv_heads; ++h) {
    const std::int64_t head = static_cast<std::int64_t>(h) * dim * kBlockTokens;
    for (int d = 0; d < dim; ++d) keys[head + d * kBlockTokens + place] = kConvert(k[h * dim + d]);
  }
  if (v == nullptr) return;
  T* values = reinterpret_cast<T*>(layer.v + block * layer.block_bytes());
  for (int h = 0; h < layer.num_kv_heads; ++h) {
    const std::int64_t head = static_cast<std::int64_t>(h) * dim * kBlockTokens;
    for (int d = 0; d < dim; ++d) values[head + place * dim + d] = kConvert(v[h * dim + d]);
  }
}

float same(float x) {
  return x;
}

}  // namespace

void store_kv(Context& context, const KvLayer& layer, std::span<const KvSlice> slices,
              std::span<const float> k, std::span<const float> v) {
  const std::int64_t row_size = static_cast<std::int64_t>(layer.num_kv_heads) * layer.head_dim;
  const auto store = layer.type == tensor::DType::f32   ? store_token<float, same>
                     : layer.type == tensor::DType::f16 ? store_token<std::uint16_t, f32_to_f16>
                                                        : store_token<std::uint16_t, f32_to_bf16>;
  CHECK(layer.type == tensor::DType::f32 || layer.type == tensor::DType::f16 ||
            layer.type == tensor::DType::bf16,
        "{} in a KV cache", tensor::info(layer.type).name);
  const bool latent = layer.latent_dim > 0;
  CHECK(v.size() == (latent ? 0 : k.size()), "{} keys and {} values", k.size(), v.size());
  for (const KvSlice& slice : slices) {
    CHECK((slice.first_row + slice.num_rows) * row_size <= static_cast<std::int64_t>(k.size()),
          "rows {} + {} of {}", slice.first_row, slice.num_rows, row_size);
    CHECK(slice.num_computed + slice.num_rows <= static_cast<int>(slice.blocks.size()) * kBlockTokens,
          "{} tokens in {} blocks", slice.num_computed + slice.num_rows, slice.blocks.size());
    for_ranges(context, slice.num_rows, (16 << 10) / row_size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t position = slice.num_computed + r;
        const std::int64_t at = (slice.first_row + r) * row_size;
        const std::int32_t block = slice.blocks[static_cast<std::size_t>(position / kBlockTokens)];
        store(layer, k.data() + at, latent ? nullptr : v.data() + at, block,
              static_cast<int>(position % kBlockTokens));
      }
    });
  }
}

void copy_block(const KvLayer& layer, std::int32_t from, std::int32_t to) {
  const std::int64_t bytes = layer.block_bytes();
  if (from == to) return;
  std::memcpy(layer.k + to * bytes, layer.k + from * bytes, static_cast<std::size_t>(bytes));
  if (layer.latent_dim > 0) return;
  std::memcpy(layer.v + to * bytes, layer.v + from * bytes, static_cast<std::size_t>(bytes));
}

}  // namespace kvasir::ops

#include "ops/kv_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "ops/cpu/split.h"
#include "ops/quant/dequantize.h"
#include "ops/types/turn.h"

namespace kvasir::ops {
namespace {

// Where one token's numbers go within a head's part of a block: the first goes to index `first`, and each
// next one `step` further.
struct Place {
  int first = 0;
  int step = 1;
};

template <class T, T (*kConvert)(float)>
void store_head(std::byte* head, int dim, Place place, int /*token*/, const float* x) {
  T* out = reinterpret_cast<T*>(head) + place.first;
  for (int d = 0; d < dim; ++d) out[d * place.step] = kConvert(x[d]);
}

float same(float x) {
  return x;
}

void store_head_int8(std::byte* head, int dim, Place place, int token, const float* x) {
  auto* out = reinterpret_cast<std::int8_t*>(head) + place.first;
  std::byte* scales = head + static_cast<std::ptrdiff_t>(dim) * kBlockTokens;
  for (int from = 0; from < dim; from += kKvGroup) {
    const int to = std::min(dim, from + kKvGroup);
    float largest = 0;
    float nothing = 0;  // becomes NaN if any number is infinite or NaN, and then so does the scale
    for (int d = from; d < to; ++d) {
      largest = std::max(largest, std::fabs(x[d]));
      nothing += 0 * x[d];
    }
    largest += nothing;
    const std::uint16_t scale = f32_to_f16(largest / 127);
    const float inverse = f16_to_f32(scale) > 0 ? 1 / f16_to_f32(scale) : 0;
    std::memcpy(scales + static_cast<std::ptrdiff_t>(from / kKvGroup * kBlockTokens + token) * 2, &scale, 2);
    for (int d = from; d < to; ++d) {
      const float scaled = std::clamp(x[d] * inverse, -127.0f, 127.0f);
      out[d * place.step] =
          std::isnan(scaled) ? std::int8_t{0} : static_cast<std::int8_t>(std::lrint(scaled));
    }
  }
}

using StoreHead = void (*)(std::byte* head, int dim, Place place, int token, const float* x);

StoreHead store_head_of(KvType type) {
  switch (type) {
    case KvType::f32:
      return store_head<float, same>;
    case KvType::f16:
      return store_head<std::uint16_t, f32_to_f16>;
    case KvType::bf16:
      return store_head<std::uint16_t, f32_to_bf16>;
    case KvType::int8:
      return store_head_int8;
  }
  CHECK(false, "KV type {}", static_cast<int>(type));
  return nullptr;
}

template <class T>
void turn_numbers(const std::byte* from, MatrixShape shape, std::byte* to) {
  turn(reinterpret_cast<const T*>(from), shape, reinterpret_cast<T*>(to));
}

using Turn = void (*)(const std::byte* from, MatrixShape shape, std::byte* to);

Turn turn_of(KvType type) {
  switch (type) {
    case KvType::f32:
      return turn_numbers<float>;
    case KvType::f16:
    case KvType::bf16:
      return turn_numbers<std::uint16_t>;
    case KvType::int8:
      return turn_numbers<std::int8_t>;
  }
  CHECK(false, "KV type {}", static_cast<int>(type));
  return nullptr;
}

// Bytes of a head's numbers in a block, without the scales.
std::int64_t number_bytes(const KvLayer& layer) {
  const std::int64_t scales =
      layer.type == KvType::int8 ? std::int64_t{layer.num_groups()} * kBlockTokens * 2 : 0;
  return layer.head_bytes() - scales;
}

}  // namespace

void store_kv(Context& context, const KvLayer& layer, std::span<const KvSlice> slices,
              std::span<const float> k, std::span<const float> v) {
  const std::int64_t row_size = static_cast<std::int64_t>(layer.num_kv_heads) * layer.head_dim;
  const StoreHead store = store_head_of(layer.type);
  const int dim = layer.head_dim;
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
        const auto token = static_cast<int>(position % kBlockTokens);
        for (int h = 0; h < layer.num_kv_heads; ++h) {
          const std::int64_t head = at + static_cast<std::int64_t>(h) * dim;
          store(layer.keys(block, h), dim, {token, kBlockTokens}, token, k.data() + head);
          if (!latent) store(layer.values(block, h), dim, {token * dim, 1}, token, v.data() + head);
        }
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

// In the cache, keys are [head_dim, tokens], values [tokens, head_dim], and the scales of both [groups,
// tokens]. The canonical form has tokens outermost in a head's keys, values and scales.
void export_block(const KvLayer& layer, std::int32_t block, std::byte* out) {
  const Turn turn_head = turn_of(layer.type);
  const std::int64_t numbers = number_bytes(layer);
  const auto put = [&](const std::byte* head, bool is_key) {
    if (is_key)
      turn_head(head, {layer.head_dim, kBlockTokens}, out);
    else
      std::memcpy(out, head, static_cast<std::size_t>(numbers));
    if (numbers < layer.head_bytes())
      turn_numbers<std::uint16_t>(head + numbers, {layer.num_groups(), kBlockTokens}, out + numbers);
    out += layer.head_bytes();
  };
  for (int h = 0; h < layer.num_kv_heads; ++h) put(layer.keys(block, h), true);
  for (int h = 0; layer.latent_dim == 0 && h < layer.num_kv_heads; ++h) put(layer.values(block, h), false);
}

void import_block(const KvLayer& layer, std::int32_t block, const std::byte* in) {
  const Turn turn_head = turn_of(layer.type);
  const std::int64_t numbers = number_bytes(layer);
  const auto take = [&](std::byte* head, bool is_key) {
    if (is_key)
      turn_head(in, {kBlockTokens, layer.head_dim}, head);
    else
      std::memcpy(head, in, static_cast<std::size_t>(numbers));
    if (numbers < layer.head_bytes())
      turn_numbers<std::uint16_t>(in + numbers, {kBlockTokens, layer.num_groups()}, head + numbers);
    in += layer.head_bytes();
  };
  for (int h = 0; h < layer.num_kv_heads; ++h) take(layer.keys(block, h), true);
  for (int h = 0; layer.latent_dim == 0 && h < layer.num_kv_heads; ++h) take(layer.values(block, h), false);
}

}  // namespace kvasir::ops

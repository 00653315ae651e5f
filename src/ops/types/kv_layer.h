#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvasir::ops {

inline constexpr int kBlockTokens = 16;

// How the numbers of a KV cache are stored. int8 has an f16 scale for each 32 numbers of a token's key or
// value.
enum class KvType : std::uint8_t { f32, f16, bf16, int8 };
inline constexpr int kKvGroup = 32;

std::string_view name(KvType type);
// Returns the type with this name in the settings, or f16 if there is none.
KvType kv_type_named(std::string_view name);

// The keys and values of one layer, in physical blocks of 16 tokens. The blocks stand one after another in
// `k` and in `v`. The owner allocates num_blocks * block_bytes() for each, aligned to 64. In a block, keys
// are [kv_heads, head_dim, 16 tokens] and values [kv_heads, 16 tokens, head_dim], so that both halves of
// attention read whole vectors. int8 has [groups, 16 tokens] scales after the numbers of each head.
//
// A latent layer (`latent_dim` above 0) stores only keys, and these of one KV head: the value of a token is
// the last `latent_dim` numbers of its key, and `v` is not used.
struct KvLayer {
  KvType type = KvType::f16;
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  int num_kv_heads = 0;
  int head_dim = 0;  // numbers in a key
  int latent_dim = 0;

  int value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
  int num_parts() const { return latent_dim > 0 ? 1 : 2; }
  int num_groups() const { return (head_dim + kKvGroup - 1) / kKvGroup; }
  // Bytes of one KV head in a block.
  std::int64_t head_bytes() const {
    const std::int64_t elems = static_cast<std::int64_t>(head_dim) * kBlockTokens;
    switch (type) {
      case KvType::f32:
        return elems * 4;
      case KvType::f16:
      case KvType::bf16:
        return elems * 2;
      case KvType::int8:
        return elems + std::int64_t{num_groups()} * kBlockTokens * 2;
    }
    return 0;
  }
  // Bytes of a block's keys. Its values, if they are stored, take as many.
  std::int64_t block_bytes() const { return num_kv_heads * head_bytes(); }
  std::byte* keys(std::int32_t block, int kv_head) const {
    return k + (std::int64_t{block} * num_kv_heads + kv_head) * head_bytes();
  }
  std::byte* values(std::int32_t block, int kv_head) const {
    return v + (std::int64_t{block} * num_kv_heads + kv_head) * head_bytes();
  }
};

}  // namespace kvasir::ops

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/dtype.h"

namespace kvasir::ops {

inline constexpr int kBlockTokens = 16;

// The keys and values of one layer, in physical blocks of 16 tokens that lie one after another in `k` and in
// `v`; whoever allocates gives each num_blocks * block_bytes(), aligned to 64. Inside a block the keys stand
// as [kv_heads, head_dim, 16 tokens] and the values as [kv_heads, 16 tokens, head_dim], so that both halves
// of attention read whole vectors.
//
// A latent layer (`latent_dim` above 0) stores keys only, of one KV head: the value of a token is the last
// `latent_dim` numbers of its key, and `v` is not used.
struct KvLayer {
  tensor::DType type = tensor::DType::f16;  // f32, f16 or bf16
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  int num_kv_heads = 0;
  int head_dim = 0;  // of a key
  int latent_dim = 0;

  int value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
  std::int64_t block_elems() const {
    return static_cast<std::int64_t>(num_kv_heads) * head_dim * kBlockTokens;
  }
  // Of the keys, and again of the values where they are stored.
  std::int64_t block_bytes() const { return tensor::bytes_of(type, block_elems()); }
  int num_parts() const { return latent_dim > 0 ? 1 : 2; }
};

// The rows of one sequence in a step.
struct KvSlice {
  int first_row = 0;
  int num_rows = 0;
  int num_computed = 0;                  // tokens already in the blocks: row r has position num_computed + r
  std::span<const std::int32_t> blocks;  // physical blocks covering num_computed + num_rows tokens
};

// Writes the rows' keys and values to their places.
void store_kv(Context& context, const KvLayer& layer, std::span<const KvSlice> slices,
              std::span<const float> k,   // [rows, kv_heads, head_dim]
              std::span<const float> v);  // [rows, kv_heads, head_dim], or empty for a latent layer

// Makes block `to` hold what block `from` holds.
void copy_block(const KvLayer& layer, std::int32_t from, std::int32_t to);

}  // namespace kvasir::ops

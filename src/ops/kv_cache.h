#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/cpu/context.h"
#include "ops/types/kv_layer.h"

namespace kvasir::ops {

// The rows of one sequence in a step.
struct KvSlice {
  int first_row = 0;
  int num_rows = 0;
  int num_computed = 0;                  // tokens already in the blocks: row r has position num_computed + r
  std::span<const std::int32_t> blocks;  // physical blocks covering num_computed + num_rows tokens
};

// Writes the rows' keys and values to their places in the sequences' blocks.
void store_kv(Context& context, const KvLayer& layer, std::span<const KvSlice> slices,
              std::span<const float> k,   // [rows, kv_heads, head_dim]
              std::span<const float> v);  // [rows, kv_heads, head_dim], or empty for a latent layer

// Copies the contents of block `from` to block `to`.
void copy_block(const KvLayer& layer, std::int32_t from, std::int32_t to);

// Copy one layer's part of a block to and from the canonical form (see kv::BlockImage). This part has
// layer.num_parts() * layer.block_bytes() bytes.
void export_block(const KvLayer& layer, std::int32_t block, std::byte* out);
void import_block(const KvLayer& layer, std::int32_t block, const std::byte* in);

}  // namespace kvasir::ops

#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cuda/step_view.h"
#include "ops/cuda/stream.h"
#include "tensor/dtype.h"

namespace kvasir::ops::cuda {

// Causal attention of a step's rows over their sequences' blocks, which already hold the rows' own keys and
// values. Keys are [kv_heads, 16 tokens, head_dim], values [kv_heads, value_dim, 16 tokens].
struct AttentionArgs {
  tensor::DType type = tensor::DType::bf16;  // f32 or bf16: the type of queries and results
  KvNumbers kv = KvNumbers::same;            // e4m3 only if is_fast_attention()
  StepView step;
  const void* q = nullptr;    // rows of [num_heads, head_dim], q_stride apart
  std::int64_t q_stride = 0;  // in numbers
  const void* k = nullptr;
  int num_blocks = 0;       // blocks in k and in v; needed if they are e4m3
  const void* v = nullptr;  // null: a token's value is the last `value_dim` numbers of its key
  void* out = nullptr;      // [rows, num_heads, value_dim]
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;
  float scale = 1;
  float softcap = 0;                 // 0: none
  int sliding_window = 0;            // 0: none
  float* partials = nullptr;         // scratch of partial_floats(), for rows that several thread blocks share
  std::int32_t* counters = nullptr;  // [split items, num_heads]; zeros before and after a call
  float* tile_partials = nullptr;    // scratch of kTilePartialFloats; null: a tile's tokens are not shared
};

// If a step has few tiles of long sequences, several thread blocks share a tile's tokens.
inline constexpr int kMaxSharedTiles = 640;  // at most: tiles * KV heads * thread blocks that share a tile
// What is stored for a row and a head of 128 numbers: [0] the largest score, [1] the sum of weights, from [4]
// on the sums of values.
inline constexpr int kTilePartialRow = 132;
inline constexpr std::size_t kTilePartialFloats = std::size_t{kMaxSharedTiles} * kTileRows * kTilePartialRow;

// Whether the first GPU computes slices of one row by splitting their tokens. If not, they are tiles as other
// slices are.
bool splits_rows(int head_dim);
// Whether the kernels for the matrix units support the shape. Others are computed by a plain kernel, row by
// row.
bool is_fast_attention(const AttentionArgs& args);
std::size_t partial_floats(int num_split_items, int num_heads, int value_dim);

void attend(StreamHandle stream, const AttentionArgs& args);

// The parts of attend().
void attend_rows_split(StreamHandle stream, const AttentionArgs& args);  // slices of one row
void attend_rows_split_wide(StreamHandle stream, const AttentionArgs& args);
void attend_rows_tiled(StreamHandle stream, const AttentionArgs& args);  // longer slices
void attend_rows_wide(StreamHandle stream, const AttentionArgs& args);   // longer slices, by warpgroups
bool wide_attention_takes(const AttentionArgs& args);
void attend_rows_plainly(StreamHandle stream, const AttentionArgs& args);  // any slices and shapes

}  // namespace kvasir::ops::cuda

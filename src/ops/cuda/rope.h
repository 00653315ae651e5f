#pragma once

#include <cstdint>

#include "ops/cuda/step_view.h"
#include "ops/cuda/stream.h"
#include "ops/types/rope_style.h"
#include "tensor/dtype.h"

namespace kvasir::ops::cuda {

// Cosines and sines of each row's position, times `factor`.
struct RopeTableArgs {
  int rows = 0;
  int num_pairs = 0;
  float factor = 1;
  const float* inverse_frequencies = nullptr;  // [num_pairs]
  const std::int32_t* positions = nullptr;     // [rows]
  float* table = nullptr;                      // [rows, 2, num_pairs]: cosines, then sines
};
void make_rope_table(StreamHandle stream, const RopeTableArgs& args);

// Normalises the heads of queries and keys if norms are set, rotates queries in place, and writes rotated
// keys and the values to their blocks: keys as [kv_heads, 16 tokens, head_dim], values as [kv_heads,
// head_dim, 16 tokens].
struct RopeStoreArgs {
  tensor::DType type = tensor::DType::bf16;
  RopeStyle style = RopeStyle::neox;
  int rows = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;              // a multiple of 4
  int num_pairs = 0;             // pairs to rotate, from a head's start: an even number; 0: none
  const float* table = nullptr;  // [rows, 2, num_pairs]
  void* q = nullptr;             // rows of [num_heads, head_dim], q_stride apart
  const void* k = nullptr;       // rows of [num_kv_heads, head_dim], kv_stride apart
  const void* v = nullptr;       // as k; null: no values are stored
  std::int64_t q_stride = 0;
  std::int64_t kv_stride = 0;
  const float* q_norm = nullptr;        // [head_dim], or null
  const float* k_norm = nullptr;        // [head_dim], or null
  float eps = 1e-5f;                    // for the norms
  const std::int32_t* slots = nullptr;  // [rows]
  KvNumbers kv = KvNumbers::same;
  void* k_cache = nullptr;
  void* v_cache = nullptr;
};
void rope_and_store(StreamHandle stream, const RopeStoreArgs& args);

}  // namespace kvasir::ops::cuda

#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"
#include "tensor/dtype.h"

namespace kvasir::ops::cuda {

// slots[s] = rows[slot_rows[s]]
struct GatherArgs {
  tensor::DType type = tensor::DType::bf16;
  int num_slots = 0;
  int dim = 0;
  const std::int32_t* slot_rows = nullptr;  // [slots]
  const void* rows = nullptr;               // [rows, dim]
  void* slots = nullptr;                    // [slots, dim]
};
void gather_rows(StreamHandle stream, const GatherArgs& args);

// y[r] = the weighted sum of the row's slots, added in the order of its experts, plus shared[r] if it is set.
struct CombineArgs {
  tensor::DType type = tensor::DType::bf16;
  int rows = 0;
  int num_used = 0;
  int dim = 0;
  const std::int32_t* slots_of_row = nullptr;  // [rows, used]
  const float* weights = nullptr;              // [rows, used]
  const void* slots = nullptr;                 // [slots, dim]
  const void* shared = nullptr;                // [rows, dim], or null
  void* y = nullptr;                           // [rows, dim]; may be the same as `shared`
};
void combine_slots(StreamHandle stream, const CombineArgs& args);

// Multiplies each head of each row by the head's own matrix: `in` numbers from x_offset on become `out`
// numbers from y_offset on.
struct HeadMatmulArgs {
  tensor::DType type = tensor::DType::bf16;
  int rows = 0;
  int num_heads = 0;
  int in = 0;
  int out = 0;
  const void* x = nullptr;  // [rows, heads, x_stride]
  int x_offset = 0;
  int x_stride = 0;
  const void* w = nullptr;  // [heads, out, in]
  void* y = nullptr;        // [rows, heads, y_stride]
  int y_offset = 0;
  int y_stride = 0;
};
void head_matmul(StreamHandle stream, const HeadMatmulArgs& args);

// Copies the numbers [offset, offset + count) of vectors that are `stride` apart.
struct CopyColumnsArgs {
  tensor::DType type = tensor::DType::bf16;
  std::int64_t num_vectors = 0;
  int count = 0;
  const void* from = nullptr;
  int from_offset = 0;
  int from_stride = 0;
  void* to = nullptr;
  int to_offset = 0;
  int to_stride = 0;
};
void copy_columns(StreamHandle stream, const CopyColumnsArgs& args);

}  // namespace kvasir::ops::cuda

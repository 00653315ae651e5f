#pragma once

#include <cstdint>
#include <span>

#include "ops/cpu/context.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

// Where the numbers of each head are in a row.
struct HeadRows {
  int offset = 0;  // of the numbers that take part, from the head's start
  int stride = 0;
};

struct HeadMatmulArgs {
  std::span<const float> x;  // [rows, heads, x_rows.stride]
  HeadRows x_rows;
  const tensor::TensorView& w;  // [heads, out, in], of f32, f16 or bf16
  std::span<float> y;           // [rows, heads, y_rows.stride]; not x
  HeadRows y_rows;
};

// Multiplies each head of each row by the head's own matrix: `in` numbers of x become `out` numbers of y, and
// the rest of y stays. A row of y depends on its row of x alone.
void head_matmul(Context& context, const HeadMatmulArgs& args);

}  // namespace kvasir::ops

#pragma once

#include <cstdint>
#include <span>

#include "ops/cpu/context.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

// Where the numbers of each head are within a row.
struct HeadRows {
  int offset = 0;  // from the start of a head to its first number that is used
  int stride = 0;  // from one head to the next
};

struct HeadMatmulArgs {
  std::span<const float> x;  // [rows, heads, x_rows.stride]
  HeadRows x_rows;
  const tensor::TensorView& w;  // [heads, out, in], of f32, f16 or bf16
  std::span<float> y;           // [rows, heads, y_rows.stride]; must not overlap x
  HeadRows y_rows;
};

// Multiplies each head of each row by the head's own matrix: `in` numbers of x become `out` numbers of y. The
// other numbers of y are left as they are. A row of y depends only on its row of x.
void head_matmul(Context& context, const HeadMatmulArgs& args);

}  // namespace kvasir::ops

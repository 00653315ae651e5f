#pragma once

#include <vector>

#include "ops/cuda/gemm_args.h"
#include "ops/cuda/stream.h"
#include "ops/types/activation.h"

namespace kvasir::ops::cuda {

// How a product is divided among thread blocks.
struct WideShape {
  int parts = 1;    // parts of the columns: each block of a cluster sums one, then all are added up
  int sharers = 1;  // blocks of a cluster that share the copies of their part of x: 1 or 2
};

struct WideProductArgs {
  GemmArgs product;
  WideShape shape;
  // If gated, y is [rows, out / 2]: the activation of the first half of the outputs, times the second half. A
  // gated product has no bias and is not added to y.
  bool gated = false;
  Activation activation = Activation::silu;
};

// Whether the product is of bf16 or e4m3, its size fits, and the GPU has warpgroup products.
bool wide_product_takes(const GemmArgs& args);
// The shapes that are worth measuring.
std::vector<WideShape> wide_shapes(const GemmArgs& args);

// Returns a shape that does not depend on the number of rows.
WideShape invariant_shape(const GemmArgs& args);

// y = scale * x wᵀ + bias, by warpgroups. A row's result depends only on the shape's `parts`, not on the
// other rows or their number.
void multiply_wide(StreamHandle stream, const WideProductArgs& args);

}  // namespace kvasir::ops::cuda

#pragma once

#include <vector>

#include "ops/cuda/gemm_args.h"
#include "ops/cuda/stream.h"
#include "ops/types/activation.h"

namespace kvasir::ops::cuda {

// How a product is divided among thread blocks.
struct WideShape {
  int parts = 1;    // of the columns, which blocks of a cluster sum and then add up
  int sharers = 1;  // blocks of a cluster that get their part of x together: 1 or 2
};

struct WideProductArgs {
  GemmArgs product;
  WideShape shape;
  // Gated: y is [rows, out / 2], the activation of the first half of the outputs times the second. No bias,
  // not added.
  bool gated = false;
  Activation activation = Activation::silu;
};

// Whether it is of bf16 or e4m3, of a size that fits, on a GPU that has such products.
bool wide_product_takes(const GemmArgs& args);
// Those worth measuring.
std::vector<WideShape> wide_shapes(const GemmArgs& args);

// The same for any number of rows.
WideShape invariant_shape(const GemmArgs& args);

// y = scale * x wᵀ + bias, by warpgroups. A row's result depends on the shape's `parts` and on nothing else:
// not on the other rows, nor on their number.
void multiply_wide(StreamHandle stream, const WideProductArgs& args);

}  // namespace kvasir::ops::cuda

#pragma once

#include <span>

#include "base/ids.h"
#include "ops/cpu/context.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

// Copies each token's row of the table to `y`, as floats. The caller has checked that every token is in [0,
// vocab).
void embed(Context& context,
           const tensor::TensorView& table,  // [vocab, dim], any type
           std::span<const TokenId> tokens,  // [rows]
           std::span<float> y);              // [rows, dim]

}  // namespace kvasir::ops

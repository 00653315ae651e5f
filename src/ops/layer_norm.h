#pragma once

#include <span>

#include "ops/cpu/context.h"

namespace kvasir::ops {

struct LayerNormArgs {
  std::span<const float> weight;  // [dim]
  std::span<const float> bias;    // [dim]
  float eps = 1e-5f;
};

// y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, for each row of weight.size() numbers. `y` may
// be the same array as `x`.
void layer_norm(Context& context,
                std::span<const float> x,  // [rows, dim]
                const LayerNormArgs& args,
                std::span<float> y);  // [rows, dim]

}  // namespace kvasir::ops

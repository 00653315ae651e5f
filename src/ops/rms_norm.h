#pragma once

#include <span>

#include "ops/cpu/context.h"

namespace kvasir::ops {

// y = x / sqrt(mean(x²) + eps) * weight, for each row of weight.size() numbers. `y` may be the same array as
// `x`.
void rms_norm(Context& context,
              std::span<const float> x,       // [rows, dim]
              std::span<const float> weight,  // [dim]
              float eps,
              std::span<float> y);  // [rows, dim]

}  // namespace kvasir::ops

#pragma once

#include <cstdint>
#include <span>

#include "ops/cpu/context.h"

namespace kvasir::ops {

// y[row][c] = x[row][order[c]]. Every row of `x` and `y` has order.size() numbers.
void gather_columns(Context& context, std::span<const float> x, std::span<const std::int32_t> order,
                    std::span<float> y);

}  // namespace kvasir::ops

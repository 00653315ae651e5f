#pragma once

#include <span>

#include "ops/cpu/context.h"
#include "ops/weight.h"

namespace kvasir::ops {

// y = x wᵀ + bias. A row of y has the same bits whatever other rows are in the call, wherever the row stands
// among them, on any number of threads, and on every instruction set.
void matmul(Context& context,
            std::span<const float> x,     // [rows, w.cols]
            const Weight& w,              // [w.rows, w.cols]
            std::span<const float> bias,  // [w.rows], or empty
            std::span<float> y);          // [rows, w.rows]; must not overlap x

}  // namespace kvasir::ops

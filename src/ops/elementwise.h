#pragma once

#include <span>

#include "ops/context.h"

namespace kvasir::ops {

// y = silu(gate) * up, where silu(g) = g / (1 + exp(-g)). y may be gate or up.
void silu_mul(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> y);

// y += x
void add(Context& context, std::span<const float> x, std::span<float> y);

}  // namespace kvasir::ops

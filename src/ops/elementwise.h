#pragma once

#include <span>

#include "ops/cpu/context.h"
#include "ops/types/activation.h"

namespace kvasir::ops {

// y = activation(gate) * up, or y = activation(gate) if `up` is empty. `y` may be the same array as `gate` or
// `up`.
void activate(Context& context, Activation activation, std::span<const float> gate, std::span<const float> up,
              std::span<float> y);

// y += x
void add(Context& context, std::span<const float> x, std::span<float> y);

// x *= factor
void scale(Context& context, float factor, std::span<float> x);

// x = cap * tanh(x / cap)
void soft_cap(Context& context, float cap, std::span<float> x);

}  // namespace kvasir::ops

#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace kvasir::ops {

// Whether quantize() can make the type: Q8_0, Q4_0, Q4_K, Q6_K and the floats.
bool can_quantize(tensor::DType type);

// The inverse of dequantize: `out` is bytes_of(type, values.size()) long. Scales are chosen for the least
// square error of each group. Numbers that are not finite become zero.
void quantize(tensor::DType type, std::span<const float> values, std::byte* out);

}  // namespace kvasir::ops

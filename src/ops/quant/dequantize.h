#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace kvasir::ops {

float f16_to_f32(std::uint16_t bits);
float bf16_to_f32(std::uint16_t bits);
// Both round to nearest even. Overflow becomes infinity, and NaN stays NaN.
std::uint16_t f32_to_f16(float value);
std::uint16_t f32_to_bf16(float value);

// Converts the numbers stored at `data`, which is bytes_of(type, out.size()) long and needs no alignment.
// out.size() must be a multiple of the type's block.
void dequantize(tensor::DType type, const std::byte* data, std::span<float> out);

}  // namespace kvasir::ops

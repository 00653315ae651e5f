#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace kvasir::ops::cuda {

// y = scale * x wᵀ + bias, or y += the same; quantised products cannot be added. All memory is on the device.
struct GemmArgs {
  const void* x = nullptr;     // [rows, cols], of `type`
  const void* w = nullptr;     // [out, cols], of `type`
  const void* bias = nullptr;  // [out], of `type`, or null
  void* y = nullptr;           // [rows, out], of `out_type`
  // Both scales are set, or neither. If they are, x and w are e4m3, and the result is multiplied by the
  // scales of its row and column.
  const float* x_scales = nullptr;  // [rows]
  const float* w_scales = nullptr;  // [out]
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t out = 0;
  tensor::DType type = tensor::DType::bf16;  // f32, f16 or bf16
  tensor::DType out_type = tensor::DType::bf16;
  float scale = 1;
  bool w_is_fresh = false;  // the previous kernel wrote w; if not, w may be read before that is done
  enum class Into : std::uint8_t { overwrite, add } into = Into::overwrite;
};

}  // namespace kvasir::ops::cuda

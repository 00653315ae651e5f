#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"
#include "ops/types/activation.h"

namespace kvasir::ops::cuda {

// A product of one row, limited by the time to read the weights once. It includes the layer's operations just
// before and after the product.
struct GemvArgs {
  enum class Then : std::uint8_t {
    store,  // y = x wᵀ, as bf16
    store_f32,
    add,   // y += scale * x wᵀ
    gate,  // y = activation(g) * u, where x wᵀ = [g, u]
  } then = Then::store;
  int cols = 0;                       // gemv_takes() must be true of it
  int out = 0;                        // rows of w
  const void* x = nullptr;            // [cols]
  const float* rms_weight = nullptr;  // [cols]: x is normalised first; null: it is not
  float eps = 1e-5f;
  const void* w = nullptr;          // [out, cols], as bf16, or as e4m3 with scales
  const float* w_scales = nullptr;  // [out], or null
  void* y = nullptr;                // [out], or [out / 2] with a gate
  float scale = 1;
  Activation activation = Activation::silu;
};

bool gemv_takes(int cols);

void gemv(StreamHandle stream, const GemvArgs& args);

}  // namespace kvasir::ops::cuda

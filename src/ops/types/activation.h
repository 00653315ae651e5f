#pragma once

#include <cstdint>

namespace kvasir::ops {

enum class Activation : std::uint8_t {
  silu,       // x / (1 + exp(-x))
  gelu_tanh,  // x / 2 * (1 + tanh(sqrt(2 / π) (x + 0.044715 x³)))
  gelu,       // x / 2 * (1 + erf(x / sqrt(2)))
};

}  // namespace kvasir::ops

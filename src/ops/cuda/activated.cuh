#pragma once

#include "ops/types/activation.h"

namespace kvasir::ops::cuda {

__device__ inline float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::silu:
      return x / (1 + __expf(-x));
    case Activation::gelu_tanh:
      return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    case Activation::gelu:
      return 0.5f * x * (1 + erff(x * 0.7071067812f));
  }
  return x;
}

}  // namespace kvasir::ops::cuda

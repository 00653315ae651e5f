#pragma once

#include <cstdint>

#include "model/arch/model_config.h"

namespace kvasir::model {

// How many numbers the matrices of a valid config have, by their purpose.
struct ParameterCount {
  std::int64_t shared = 0;   // in the layers, without routed experts
  std::int64_t experts = 0;  // in all routed experts
  std::int64_t head = 0;     // in the matrix that makes logits, which may be the embedding
};
ParameterCount count_parameters(const ModelConfig& config);

}  // namespace kvasir::model

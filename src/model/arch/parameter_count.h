#pragma once

#include <cstdint>

#include "model/arch/model_config.h"

namespace kvasir::model {

// Numbers in the matrices of a valid config by what they are for.
struct ParameterCount {
  std::int64_t shared = 0;   // of the layers, without routed experts
  std::int64_t experts = 0;  // of all routed experts
  std::int64_t head = 0;     // that makes logits; the embedding itself where they are one
};
ParameterCount count_parameters(const ModelConfig& config);

}  // namespace kvasir::model

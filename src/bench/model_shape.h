#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/arch/model_config.h"
#include "tensor/dtype.h"

namespace kvasir::bench {

// The name and the shape of a real model.
struct ModelShape {
  std::string_view name;
  model::ModelConfig config;
};

const std::vector<ModelShape>& model_shapes();
// The error lists the known names.
base::Result<const ModelShape*> find_shape(std::string_view name);

// How the weights of a random model are stored: one type, or Q4_K_M's mixture of Q4_K and Q6_K.
struct WeightTypes {
  tensor::DType type = tensor::DType::q4_0;
  bool mixed = false;
  std::string name;
};

// Parses "Q4_0", "q4_k_m", etc. The error lists the known names.
base::Result<WeightTypes> parse_weight_types(std::string_view name);

}  // namespace kvasir::bench

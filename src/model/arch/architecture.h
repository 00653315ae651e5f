#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "model/model_config.h"
#include "model/tensor_names.h"
#include "model/weight_file.h"

namespace kvasir::model {

// A family of models: how its checkpoints say what the decoder has to be. Stateless.
struct Architecture {
  std::string_view name;  // general.architecture of GGUF, model_type of config.json
  TensorNames gguf_names;
  TensorNames hugging_face_names;
  base::Result<ModelConfig> (*from_gguf)(const WeightFile& file);
  base::Result<ModelConfig> (*from_json)(const base::json::object& config);
};

std::span<const Architecture* const> architectures();
// `unsupported`, with the list of what there is, for a family that is not in it.
base::Result<const Architecture*> find_architecture(std::string_view name);

extern const Architecture kLlama;
extern const Architecture kQwen2;

}  // namespace kvasir::model

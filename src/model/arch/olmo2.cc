#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

// The outputs of a layer's halves are normalised, not their inputs. Queries and keys are normalised as whole
// vectors.
void olmo2_shape(ModelConfig& config) {
  config.norm_place = NormPlace::after;
  config.qk_norm = QkNorm::whole;
}

base::Result<ModelConfig> olmo2_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "olmo2"));
  olmo2_shape(config);
  return config;
}

base::Result<ModelConfig> olmo2_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  olmo2_shape(config);
  return config;
}

constexpr TensorNames olmo2_hugging_face_names() {
  TensorNames names = kHuggingFaceNames;
  names.attention_post_norm = "model.layers.{0}.post_attention_layernorm.weight";
  names.mlp_post_norm = "model.layers.{0}.post_feedforward_layernorm.weight";
  return names;
}

}  // namespace

constexpr Architecture kOlmo2 = {
    .gguf = {"olmo2", olmo2_from_gguf, kGgufNames},
    .hugging_face = {"olmo2", olmo2_from_json, olmo2_hugging_face_names()},
};

}  // namespace kvasir::model

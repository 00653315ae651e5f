#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

// The halves of a layer are normalised behind, not before, and queries and keys as whole vectors.
void shape(ModelConfig& config) {
  config.norm_place = NormPlace::after;
  config.qk_norm = QkNorm::whole;
}

base::Result<ModelConfig> from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "olmo2"));
  shape(config);
  return config;
}

base::Result<ModelConfig> from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  shape(config);
  return config;
}

constexpr TensorNames hugging_face_names() {
  TensorNames names = kHuggingFaceNames;
  names.attention_post_norm = "model.layers.{0}.post_attention_layernorm.weight";
  names.mlp_post_norm = "model.layers.{0}.post_feedforward_layernorm.weight";
  return names;
}

}  // namespace

constexpr Architecture kOlmo2 = {
    .gguf = {"olmo2", from_gguf, kGgufNames},
    .hugging_face = {"olmo2", from_json, hugging_face_names()},
};

}  // namespace kvasir::model

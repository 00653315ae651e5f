#include "model/arch/architecture.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> mixtral_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_window(json, config, [](const base::json::object&, int) { return true; }));
  TRY(config.mixture.num_experts, json_integer(json, "num_local_experts"));
  TRY(config.mixture.num_used, json_integer(json, "num_experts_per_tok"));
  config.mixture.intermediate_size = config.intermediate_size;
  for (LayerConfig& layer : config.layers) layer.sparse = true;
  return config;
}

constexpr TensorNames mixtral_hugging_face_names() {
  TensorNames names = kHuggingFaceNames;
  names.router = "model.layers.{0}.block_sparse_moe.gate.weight";
  names.expert_gate = "model.layers.{0}.block_sparse_moe.experts.{1}.w1.weight";
  names.expert_up = "model.layers.{0}.block_sparse_moe.experts.{1}.w3.weight";
  names.expert_down = "model.layers.{0}.block_sparse_moe.experts.{1}.w2.weight";
  return names;
}

}  // namespace

// Mixtral has no entry for GGUF, because its GGUF files say "llama".
constexpr Architecture kMixtral = {
    .gguf = {},
    .hugging_face = {"mixtral", mixtral_from_json, mixtral_hugging_face_names()},
};

}  // namespace kvasir::model

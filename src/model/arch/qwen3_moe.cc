#include <algorithm>
#include <vector>

#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"
#include "model/arch/qwen.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> qwen3_moe_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "qwen3moe"));
  TRY_OK(read_gguf_mixture(GgufFields(file.metadata(), "qwen3moe"), config));
  config.qk_norm = QkNorm::heads;
  return config;
}

// Every decoder_sparse_step-th layer is a mixture, except those in mlp_only_layers.
base::Status read_sparse_layers(const base::json::object& json, ModelConfig& config) {
  TRY(const int step, json_integer_or(json, "decoder_sparse_step", 1));
  if (step < 1) return base::error(base::ErrorCode::corrupt, "decoder_sparse_step is {}", step);
  TRY(const std::vector<double> dense, json_numbers_or_none(json, "mlp_only_layers"));
  for (int i = 0; i < config.num_layers; ++i) {
    config.layers[static_cast<std::size_t>(i)].sparse =
        (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
  }
  return base::ok();
}

base::Result<ModelConfig> qwen3_moe_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  TRY_OK(read_qwen_window(json, config));
  config.qk_norm = QkNorm::heads;
  MixtureConfig& mixture = config.mixture;
  const bool new_spelling = json.contains("num_local_experts");
  TRY(mixture.num_experts, json_integer(json, new_spelling ? "num_local_experts" : "num_experts"));
  TRY(mixture.num_used, json_integer(json, "num_experts_per_tok"));
  TRY(mixture.intermediate_size, json_integer(json, "moe_intermediate_size"));
  TRY(mixture.renormalize, json_boolean_or(json, "norm_topk_prob", false));
  TRY_OK(read_sparse_layers(json, config));
  return config;
}

}  // namespace

constexpr Architecture kQwen3Moe = {
    .gguf = {"qwen3moe", qwen3_moe_from_gguf, kGgufNames},
    .hugging_face = {"qwen3_moe", qwen3_moe_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

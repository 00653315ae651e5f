#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "llama"));
  // Converters to GGUF reorder the rows of Q and K of this family so that a pair stands side by side.
  config.rope.style = ops::RopeStyle::interleaved;
  return config;
}

base::Result<ModelConfig> from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY(config.qkv_bias, json_boolean_or(json, "attention_bias", false));
  config.attention_out_bias = config.qkv_bias;
  TRY(config.mlp_bias, json_boolean_or(json, "mlp_bias", false));
  return config;
}

}  // namespace

constexpr Architecture kLlama = {"llama", kGgufNames, kHuggingFaceNames, from_gguf, from_json};

}  // namespace kvasir::model

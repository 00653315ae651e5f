#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> granite_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "granite"));
  const GgufFields fields(file.metadata(), "granite");
  config.rope.style = ops::RopeStyle::interleaved;  // GGUF reorders the rows as it does llama's
  TRY(config.embedding_scale, fields.float_or("embedding_scale", 1));
  TRY(config.attention_scale, fields.float_or("attention.scale", 0));
  TRY(config.residual_scale, fields.float_or("residual_scale", 1));
  TRY(const float divisor, fields.float_or("logit_scale", 1));
  config.logit_scale = 1 / divisor;
  return config;
}

base::Result<ModelConfig> granite_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  TRY(config.embedding_scale, json_float_or(json, "embedding_multiplier", 1));
  TRY(config.attention_scale, json_float_or(json, "attention_multiplier", 1));
  TRY(config.residual_scale, json_float_or(json, "residual_multiplier", 1));
  TRY(const float divisor, json_float_or(json, "logits_scaling", 1));
  config.logit_scale = 1 / divisor;
  return config;
}

}  // namespace

constexpr Architecture kGranite = {
    .gguf = {"granite", granite_from_gguf, kGgufNames},
    .hugging_face = {"granite", granite_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

#include <cmath>

#include "model/arch/architecture.h"
#include "model/arch/gemma.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

// Every other layer has a window. The first layer has one.
bool gemma2_slides(int layer) {
  return layer % 2 == 0;
}

base::Result<ModelConfig> gemma2_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "gemma2"));
  const GgufFields fields(file.metadata(), "gemma2");
  shape_gemma(config);
  TRY(config.attention_softcap, fields.float_or("attn_logit_softcapping", 50));
  TRY(config.logit_softcap, fields.float_or("final_logit_softcapping", 30));
  TRY_OK(read_gguf_window(fields, config, gemma2_slides));
  // GGUF has no key for this: the 27B model (46 layers) scales by hidden_size / num_heads, unlike its family.
  if (config.num_layers == 46)
    config.attention_scale = 1 / std::sqrt(static_cast<float>(config.hidden_size / config.num_heads));
  return config;
}

base::Result<ModelConfig> gemma2_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  shape_gemma(config);
  TRY(config.tied_embeddings, json_boolean_or(json, "tie_word_embeddings", true));
  TRY(config.attention_softcap, json_float_or(json, "attn_logit_softcapping", 0));
  TRY(config.logit_softcap, json_float_or(json, "final_logit_softcapping", 0));
  TRY(const float scalar, json_float_or(json, "query_pre_attn_scalar", 256));
  config.attention_scale = 1 / std::sqrt(scalar);
  TRY_OK(read_json_window(json, config,
                          [](const base::json::object&, int layer) { return gemma2_slides(layer); }));
  return config;
}

}  // namespace

void shape_gemma(ModelConfig& config) {
  config.norm_place = NormPlace::both;
  config.activation = ops::Activation::gelu_tanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
}

constexpr Architecture kGemma2 = {
    .gguf = {"gemma2", gemma2_from_gguf, kGgufNames},
    .hugging_face = {"gemma2", gemma2_from_json, gemma_hugging_face_names()},
};

}  // namespace kvasir::model

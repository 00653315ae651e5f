#include <cmath>

#include "model/arch/architecture.h"
#include "model/arch/gemma.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

// Five layers have a window; the sixth has none, and its rope turns more slowly.
constexpr int kPattern = 6;

bool gemma3_slides(int layer) {
  return (layer + 1) % kPattern != 0;
}

// Layers with a window use the local rope.
void use_local_rope(ModelConfig& config) {
  for (LayerConfig& layer : config.layers) {
    if (layer.sliding_window > 0) layer.rope = RopeUse::local;
  }
}

base::Result<ModelConfig> gemma3_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "gemma3"));
  const GgufFields fields(file.metadata(), "gemma3");
  shape_gemma(config);
  config.qk_norm = QkNorm::heads;
  TRY_OK(read_gguf_window(fields, config, gemma3_slides));
  config.local_rope.dim = config.rope.dim;
  TRY(config.local_rope.theta, fields.number_or("rope.freq_base_swa", 10000));
  use_local_rope(config);
  // GGUF has no key for this: the 27B model (62 layers) scales by hidden_size / num_heads, unlike its family.
  if (config.num_layers == 62)
    config.attention_scale = 1 / std::sqrt(static_cast<float>(config.hidden_size / config.num_heads));
  return config;
}

base::Status read_ropes(const base::json::object& json, ModelConfig& config) {
  config.local_rope.dim = config.head_dim;
  TRY(config.local_rope.theta, json_number_or(json, "rope_local_base_freq", 10000));
  TRY(const base::json::object* parameters, json_object_or_none(json, "rope_parameters"));
  if (!parameters) {
    // Older files have this key. Its default differs from that of other families.
    TRY(config.rope.theta, json_number_or(json, "rope_theta", 1e6));
    return base::ok();
  }
  TRY(const base::json::object* global, json_object_or_none(*parameters, "full_attention"));
  TRY(const base::json::object* local, json_object_or_none(*parameters, "sliding_attention"));
  if (global) TRY_OK(read_json_rope(*global, config, config.rope));
  if (local) TRY_OK(read_json_rope(*local, config, config.local_rope));
  return base::ok();
}

base::Result<ModelConfig> gemma3_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  shape_gemma(config);
  config.qk_norm = QkNorm::heads;
  TRY(config.tied_embeddings, json_boolean_or(json, "tie_word_embeddings", true));
  TRY(config.attention_softcap, json_float_or(json, "attn_logit_softcapping", 0));
  TRY(config.logit_softcap, json_float_or(json, "final_logit_softcapping", 0));
  TRY(const float scalar, json_float_or(json, "query_pre_attn_scalar", 256));
  config.attention_scale = 1 / std::sqrt(scalar);
  TRY_OK(read_json_window(json, config,
                          [](const base::json::object&, int layer) { return gemma3_slides(layer); }));
  TRY_OK(read_ropes(json, config));
  use_local_rope(config);
  return config;
}

}  // namespace

constexpr Architecture kGemma3 = {
    .gguf = {"gemma3", gemma3_from_gguf, kGgufNames},
    .hugging_face = {"gemma3_text", gemma3_from_json, gemma_hugging_face_names()},
};

}  // namespace kvasir::model

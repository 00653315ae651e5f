#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

void gpt2_shape(ModelConfig& config) {
  config.norm = NormKind::layer;
  config.gated_mlp = false;
  config.learned_positions = true;
  config.qkv_bias = true;
  config.attention_out_bias = true;
  config.mlp_bias = true;
  for (LayerConfig& layer : config.layers) layer.rope = RopeUse::none;
}

base::Result<ModelConfig> gpt2_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "gpt2"));
  TRY(config.norm_eps, GgufFields(file.metadata(), "gpt2").float_or("attention.layer_norm_epsilon", 1e-5f));
  config.activation = ops::Activation::gelu_tanh;
  gpt2_shape(config);
  return config;
}

base::Result<ModelConfig> gpt2_from_json(const base::json::object& json) {
  TRY(const bool layerwise, json_boolean_or(json, "scale_attn_by_inverse_layer_idx", false));
  TRY(const bool scaled, json_boolean_or(json, "scale_attn_weights", true));
  if (layerwise || !scaled)
    return base::error(base::ErrorCode::unsupported, "another attention scale than the usual");
  ModelConfig config;
  config.architecture = "gpt2";
  TRY(config.activation, json_activation(json, "activation_function"));
  TRY(config.vocab_size, json_integer(json, "vocab_size"));
  TRY(config.hidden_size, json_integer(json, "n_embd"));
  TRY(config.num_layers, json_integer(json, "n_layer"));
  TRY(config.num_heads, json_integer(json, "n_head"));
  if (config.num_heads < 1 || config.hidden_size > 1 << 20)
    return base::error(base::ErrorCode::corrupt, "n_head is {}, n_embd is {}", config.num_heads,
                       config.hidden_size);
  config.num_kv_heads = config.num_heads;
  config.head_dim = config.hidden_size / config.num_heads;
  TRY(config.intermediate_size, json_integer_or(json, "n_inner", 4 * config.hidden_size));
  TRY(config.context_length, json_integer(json, "n_positions"));
  TRY(config.norm_eps, json_float_or(json, "layer_norm_epsilon", 1e-5f));
  TRY(config.tied_embeddings, json_boolean_or(json, "tie_word_embeddings", true));
  TRY_OK(make_layers(config));
  gpt2_shape(config);
  return config;
}

constexpr TensorNames gpt2_gguf_names() {
  TensorNames names = kGgufNames;
  names.qkv = "blk.{0}.attn_qkv.weight";
  return names;
}

constexpr TensorNames kNames = {
    .embedding = "wte.weight",
    .positions = "wpe.weight",
    .output_norm = "ln_f.weight",
    .output = "lm_head.weight",
    .attention_norm = "h.{0}.ln_1.weight",
    .qkv = "h.{0}.attn.c_attn.weight",
    .attention_out = "h.{0}.attn.c_proj.weight",
    .mlp_norm = "h.{0}.ln_2.weight",
    .up = "h.{0}.mlp.c_fc.weight",
    .down = "h.{0}.mlp.c_proj.weight",
    .optional_prefix = "transformer.",
    .transposed = true,
};

}  // namespace

constexpr Architecture kGpt2 = {
    .gguf = {"gpt2", gpt2_from_gguf, gpt2_gguf_names()},
    .hugging_face = {"gpt2", gpt2_from_json, kNames},
};

}  // namespace kvasir::model

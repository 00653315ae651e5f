#include <cmath>
#include <string>

#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

// Sets what both formats share: the latent takes the place of KV heads, and the two numbers of a rotated pair
// are neighbours.
void deepseek_shape(ModelConfig& config) {
  config.num_kv_heads = 1;
  config.head_dim = config.latent.nope_dim + config.rope.dim;
  config.rope.style = ops::RopeStyle::interleaved;
}

// Sets the attention scale. In this family, yarn scales the attention scores, not the queries and keys.
void sharpen(double per_log, ModelConfig& config) {
  const double factor = config.rope.factor > 1 ? 1 + per_log * std::log(config.rope.factor) : 1;
  config.attention_scale = static_cast<float>(factor * factor / std::sqrt(config.head_dim));
}

base::Status read_gguf_latent(const GgufFields& fields, ModelConfig& config) {
  LatentConfig& latent = config.latent;
  TRY(latent.q_rank, fields.integer_or("attention.q_lora_rank", 0));
  TRY(latent.kv_rank, fields.integer("attention.kv_lora_rank"));
  TRY(config.rope.dim, fields.integer("rope.dimension_count"));
  // Newer files store the sizes of a head in addition to those of the latent.
  const bool both = fields.contains("attention.key_length_mla");
  TRY(const int key, fields.integer(both ? "attention.key_length_mla" : "attention.key_length"));
  TRY(latent.value_dim, fields.integer(both ? "attention.value_length_mla" : "attention.value_length"));
  latent.nope_dim = key - config.rope.dim;
  return base::ok();
}

base::Result<ModelConfig> deepseek_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "deepseek2"));
  const GgufFields fields(file.metadata(), "deepseek2");
  TRY_OK(read_gguf_latent(fields, config));
  deepseek_shape(config);
  config.mixture.renormalize = false;
  TRY_OK(read_gguf_mixture(fields, config));
  TRY(config.mixture.renormalize, fields.boolean_or("expert_weights_norm", false));
  for (int i = 0; i < config.num_layers; ++i) {
    if (file.contains(layer_name(kGgufNames.selection_bias, i))) config.mixture.selection_bias = true;
  }
  if (config.rope.scaling == RopeScaling::yarn) {
    TRY(const double per_log, fields.number_or("rope.scaling.yarn_log_multiplier", 0));
    sharpen(per_log, config);
    config.rope.attention_factor = 1;
  }
  return config;
}

base::Status read_json_mixture(const base::json::object& json, ModelConfig& config) {
  MixtureConfig& mixture = config.mixture;
  TRY(const std::string score, json_string_or(json, "scoring_func", "sigmoid"));
  if (score != "sigmoid") return base::error(base::ErrorCode::unsupported, "scoring_func {:?}", score);
  mixture.score = ops::RouterScore::sigmoid;
  mixture.selection_bias = true;
  TRY(mixture.num_experts, json_integer(json, "n_routed_experts"));
  TRY(mixture.num_used, json_integer(json, "num_experts_per_tok"));
  TRY(mixture.intermediate_size, json_integer(json, "moe_intermediate_size"));
  TRY(const int num_shared, json_integer_or(json, "n_shared_experts", 0));
  const std::int64_t shared = std::int64_t{num_shared} * mixture.intermediate_size;
  if (num_shared < 0 || shared > 1 << 22)
    return base::error(base::ErrorCode::corrupt, "n_shared_experts is {}", num_shared);
  mixture.shared_intermediate_size = static_cast<int>(shared);
  TRY(mixture.num_groups, json_integer_or(json, "n_group", 1));
  TRY(mixture.used_groups, json_integer_or(json, "topk_group", 1));
  TRY(mixture.renormalize, json_boolean_or(json, "norm_topk_prob", true));
  TRY(mixture.scale, json_float_or(json, "routed_scaling_factor", 1));
  TRY(const int num_dense, json_integer_or(json, "first_k_dense_replace", 0));
  if (num_dense < 0) return base::error(base::ErrorCode::corrupt, "first_k_dense_replace is {}", num_dense);
  for (std::size_t i = static_cast<std::size_t>(num_dense); i < config.layers.size(); ++i)
    config.layers[i].sparse = true;
  return base::ok();
}

base::Result<ModelConfig> deepseek_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY(config.qkv_bias, json_boolean_or(json, "attention_bias", false));
  config.attention_out_bias = config.qkv_bias;
  LatentConfig& latent = config.latent;
  TRY(latent.q_rank, json_integer_or(json, "q_lora_rank", 0));
  TRY(latent.kv_rank, json_integer(json, "kv_lora_rank"));
  TRY(latent.nope_dim, json_integer(json, "qk_nope_head_dim"));
  TRY(latent.value_dim, json_integer(json, "v_head_dim"));
  TRY(config.rope.dim, json_integer(json, "qk_rope_head_dim"));
  if (latent.kv_rank < 1 || latent.nope_dim > 1 << 12 || config.rope.dim > 1 << 12)
    return base::error(base::ErrorCode::corrupt, "kv_lora_rank {}, qk_nope_head_dim {}, qk_rope_head_dim {}",
                       latent.kv_rank, latent.nope_dim, config.rope.dim);
  deepseek_shape(config);
  TRY(const bool interleaved, json_boolean_or(json, "rope_interleave", true));
  if (!interleaved) config.rope.style = ops::RopeStyle::neox;
  if (config.rope.scaling == RopeScaling::yarn && config.rope.mscale_all_dim > 0)
    sharpen(0.1 * config.rope.mscale_all_dim, config);
  TRY_OK(read_json_mixture(json, config));
  return config;
}

}  // namespace

// DeepSeek V3: multi-head latent attention and fine-grained experts. GGUF has the same name for V2.
constexpr Architecture kDeepseek = {
    .gguf = {"deepseek2", deepseek_from_gguf, kGgufNames},
    .hugging_face = {"deepseek_v3", deepseek_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

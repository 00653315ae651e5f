#include "model/arch/gguf_fields.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "model/arch/tensor_names.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

base::Status read_scaling(const GgufFields& fields, RopeConfig& rope, int context_length) {
  const std::string_view type = fields.string_or("rope.scaling.type", "none");
  TRY(const double old_spelling, fields.number_or("rope.scale_linear", 1));
  TRY(rope.factor, fields.number_or("rope.scaling.factor", old_spelling));
  TRY(rope.original_context, fields.number_or("rope.scaling.original_context_length", context_length));
  if (type == "yarn") {
    rope.scaling = RopeScaling::yarn;
    TRY(rope.beta_fast, fields.number_or("rope.scaling.yarn_beta_fast", rope.beta_fast));
    TRY(rope.beta_slow, fields.number_or("rope.scaling.yarn_beta_slow", rope.beta_slow));
    // The file's factor multiplies the one that follows from the scaling.
    TRY(const double multiplier, fields.number_or("rope.scaling.attn_factor", 1));
    rope.attention_factor = multiplier * (rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1);
  } else if (type == "linear" || (type == "none" && rope.factor != 1)) {
    rope.scaling = RopeScaling::linear;
  } else if (type == "longrope") {
    TRY(rope.attention_factor, fields.number_or("rope.scaling.attn_factor", 1));
  } else if (type != "none") {
    return base::error(ErrorCode::unsupported, "rope scaling {:?}", type);
  }
  return base::ok();
}

// Reads the scalings that are stored as a table of divisors, not as parameters: Llama 3's and longrope's.
// Longrope has two tables, but all tokens must share one: the long table if the context exceeds the original
// one.
base::Status read_divisors(const WeightFile& file, int context_length, RopeConfig& rope) {
  const bool longer = context_length > rope.original_context;
  const std::string_view names[] = {"rope_freqs.weight",
                                    longer ? "rope_factors_long.weight" : "rope_factors_short.weight"};
  for (const std::string_view name : names) {
    if (!file.contains(name)) continue;
    TRY(const tensor::TensorView table, file.find(name));
    if (table.type != tensor::DType::f32 || table.shape.size() != 1 || table.cols() * 2 != rope.dim)
      return base::error(ErrorCode::corrupt, "{} is not a row of {} F32 numbers", name, rope.dim / 2);
    rope.freq_divisors.resize(static_cast<std::size_t>(table.cols()));
    std::memcpy(rope.freq_divisors.data(), table.data, static_cast<std::size_t>(table.bytes()));
  }
  return base::ok();
}

base::Status read_dimensions(const GgufFields& fields, ModelConfig& config) {
  TRY(config.num_layers, fields.integer("block_count"));
  TRY_OK(make_layers(config));
  TRY(config.context_length, fields.integer("context_length"));
  TRY(config.hidden_size, fields.integer("embedding_length"));
  TRY(config.intermediate_size, fields.integer("feed_forward_length"));
  TRY(config.num_heads, fields.integer("attention.head_count"));
  TRY(config.num_kv_heads, fields.integer_or("attention.head_count_kv", config.num_heads));
  if (config.num_heads < 1)
    return base::error(ErrorCode::corrupt, "attention.head_count is {}", config.num_heads);
  TRY(config.head_dim, fields.integer_or("attention.key_length", config.hidden_size / config.num_heads));
  TRY(const int value_dim, fields.integer_or("attention.value_length", config.head_dim));
  if (value_dim != config.head_dim && !fields.contains("attention.kv_lora_rank"))
    return base::error(ErrorCode::unsupported, "attention.value_length {} beside attention.key_length {}",
                       value_dim, config.head_dim);
  return base::ok();
}

}  // namespace

std::string GgufFields::full(std::string_view key) const {
  return fmt::format("{}.{}", prefix_, key);
}

base::Result<int> GgufFields::integer(std::string_view key) const {
  const std::string name = full(key);
  const auto value = metadata_.integer(name);
  if (!value) {
    if (metadata_.integers(name))
      return base::error(ErrorCode::unsupported, "{} differs from layer to layer", name);
    return base::error(ErrorCode::corrupt, "no integer {}", name);
  }
  if (*value < 0 || *value > std::numeric_limits<int>::max())
    return base::error(ErrorCode::corrupt, "{} is {}", name, *value);
  return static_cast<int>(*value);
}

base::Result<int> GgufFields::integer_or(std::string_view key, int fallback) const {
  return contains(key) ? integer(key) : base::Result<int>(fallback);
}

base::Result<double> GgufFields::number_or(std::string_view key, double fallback) const {
  if (!contains(key)) return fallback;
  const auto value = metadata_.number(full(key));
  if (!value) return base::error(ErrorCode::corrupt, "{} is no number", full(key));
  return *value;
}

base::Result<float> GgufFields::float_or(std::string_view key, float fallback) const {
  TRY(const double number, number_or(key, fallback));
  return static_cast<float>(number);
}

base::Result<bool> GgufFields::boolean_or(std::string_view key, bool fallback) const {
  if (!contains(key)) return fallback;
  const auto value = metadata_.boolean(full(key));
  if (!value) return base::error(ErrorCode::corrupt, "{} is no boolean", full(key));
  return *value;
}

std::string_view GgufFields::string_or(std::string_view key, std::string_view fallback) const {
  return metadata_.string(full(key)).value_or(fallback);
}

base::Result<ModelConfig> read_gguf_fields(const WeightFile& file, std::string_view prefix) {
  const GgufFields fields(file.metadata(), prefix);
  ModelConfig config;
  config.architecture = prefix;
  TRY_OK(read_dimensions(fields, config));
  TRY(config.norm_eps, fields.float_or("attention.layer_norm_rms_epsilon", 1e-5f));
  TRY(config.rope.dim, fields.integer_or("rope.dimension_count", config.head_dim));
  TRY(config.rope.theta, fields.number_or("rope.freq_base", 10000));
  TRY_OK(read_scaling(fields, config.rope, config.context_length));
  TRY_OK(read_divisors(file, config.context_length, config.rope));

  TRY(const tensor::TensorView embedding, file.find(kGgufNames.embedding));
  if (embedding.shape.size() != 2 || embedding.rows() > std::numeric_limits<int>::max())
    return base::error(ErrorCode::corrupt, "{} is no matrix", kGgufNames.embedding);
  config.vocab_size = static_cast<int>(embedding.rows());
  config.tied_embeddings = !file.contains(kGgufNames.output);
  config.qkv_bias = file.contains(bias_name(layer_name(kGgufNames.q, 0)));
  config.attention_out_bias = file.contains(bias_name(layer_name(kGgufNames.attention_out, 0)));
  config.mlp_bias = file.contains(bias_name(layer_name(kGgufNames.down, 0)));
  return config;
}

base::Status read_gguf_mixture(const GgufFields& fields, ModelConfig& config) {
  MixtureConfig& mixture = config.mixture;
  TRY(mixture.num_experts, fields.integer("expert_count"));
  TRY(mixture.num_used, fields.integer("expert_used_count"));
  TRY(mixture.intermediate_size, fields.integer_or("expert_feed_forward_length", config.intermediate_size));
  TRY(const int num_shared, fields.integer_or("expert_shared_count", 0));
  if (num_shared > 1 << 12) return base::error(ErrorCode::corrupt, "expert_shared_count is {}", num_shared);
  TRY(mixture.shared_intermediate_size,
      fields.integer_or("expert_shared_feed_forward_length",
                        num_shared * std::min(mixture.intermediate_size, 1 << 18)));
  TRY(mixture.renormalize, fields.boolean_or("expert_weights_norm", true));
  TRY(mixture.scale, fields.float_or("expert_weights_scale", 1));
  if (mixture.scale == 0) mixture.scale = 1;  // some files store 0 for "not set"
  TRY(const int gating, fields.integer_or("expert_gating_func", 0));
  if (gating > 2) return base::error(ErrorCode::unsupported, "expert_gating_func {}", gating);
  if (gating == 2) mixture.score = ops::RouterScore::sigmoid;
  TRY(mixture.num_groups, fields.integer_or("expert_group_count", 1));
  TRY(mixture.used_groups, fields.integer_or("expert_group_used_count", mixture.num_groups));
  TRY(const int num_dense, fields.integer_or("leading_dense_block_count", 0));
  for (std::size_t i = static_cast<std::size_t>(num_dense); i < config.layers.size(); ++i)
    config.layers[i].sparse = true;
  return base::ok();
}

base::Status read_gguf_window(const GgufFields& fields, ModelConfig& config, bool (*slides)(int layer)) {
  TRY(const int window, fields.integer_or("attention.sliding_window", 0));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (slides(static_cast<int>(i))) config.layers[i].sliding_window = window;
  }
  return base::ok();
}

}  // namespace kvasir::model

#include "model/arch/model_config.h"

#include <algorithm>
#include <cmath>

#include "model/arch/parameter_count.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

struct Bound {
  const char* name;
  int value;
  int max;
  int min = 1;
};

base::Status check(std::span<const Bound> bounds) {
  for (const Bound& bound : bounds) {
    if (bound.value < bound.min || bound.value > bound.max)
      return base::error(ErrorCode::corrupt, "{} {} is not between {} and {}", bound.name, bound.value,
                         bound.min, bound.max);
  }
  return base::ok();
}

base::Status check_sizes(const ModelConfig& config) {
  const Bound bounds[] = {
      {"vocabulary size", config.vocab_size, 1 << 24},
      {"hidden size", config.hidden_size, 1 << 20},
      {"intermediate size", config.intermediate_size, 1 << 22},
      {"number of layers", config.num_layers, kMaxLayers},
      {"number of heads", config.num_heads, 1 << 12},
      {"number of KV heads", config.num_kv_heads, 1 << 12},
      {"head dimension", config.head_dim, 1 << 12},
      {"context length", config.context_length, 1 << 28},
  };
  TRY_OK(check(bounds));
  if (config.num_heads % config.num_kv_heads != 0)
    return base::error(ErrorCode::corrupt, "{} heads are no multiple of {} KV heads", config.num_heads,
                       config.num_kv_heads);
  return base::ok();
}

base::Status check_factors(const ModelConfig& config) {
  struct Factor {
    const char* name;
    float value;
    bool may_be_zero;
  };
  const Factor factors[] = {
      {"the norm's epsilon", config.norm_eps, true},
      {"the embedding's scale", config.embedding_scale, false},
      {"the attention's scale", config.attention_scale, true},
      {"the attention's softcap", config.attention_softcap, true},
      {"the residual's scale", config.residual_scale, false},
      {"the logits' scale", config.logit_scale, false},
      {"the logits' softcap", config.logit_softcap, true},
      {"the experts' scale", config.mixture.scale, false},
  };
  for (const Factor& factor : factors) {
    if (!std::isfinite(factor.value) || factor.value < 0 || (factor.value == 0 && !factor.may_be_zero))
      return base::error(ErrorCode::corrupt, "{} is {}, not a number above 0", factor.name, factor.value);
  }
  return base::ok();
}

base::Status check_mixture(const MixtureConfig& mixture) {
  const Bound bounds[] = {
      {"number of experts", mixture.num_experts, 1 << 14},
      {"number of experts of a token", mixture.num_used, mixture.num_experts},
      {"intermediate size of an expert", mixture.intermediate_size, 1 << 22},
      {"intermediate size of the shared experts", mixture.shared_intermediate_size, 1 << 22, 0},
      {"number of expert groups", mixture.num_groups, mixture.num_experts},
      {"number of expert groups of a token", mixture.used_groups, mixture.num_groups},
  };
  TRY_OK(check(bounds));
  if (mixture.num_experts % mixture.num_groups != 0)
    return base::error(ErrorCode::corrupt, "{} experts are no multiple of {} groups", mixture.num_experts,
                       mixture.num_groups);
  if (mixture.num_used > mixture.num_experts / mixture.num_groups * mixture.used_groups)
    return base::error(ErrorCode::corrupt, "{} experts of a token are more than {} of {} groups hold",
                       mixture.num_used, mixture.used_groups, mixture.num_groups);
  return base::ok();
}

base::Status check_latent(const ModelConfig& config) {
  const LatentConfig& latent = config.latent;
  const Bound bounds[] = {
      {"rank of the queries", latent.q_rank, 1 << 16, 0},
      {"rank of the keys and values", latent.kv_rank, 1 << 16},
      {"head dimension without rope", latent.nope_dim, 1 << 12},
      {"head dimension of the values", latent.value_dim, 1 << 12},
  };
  TRY_OK(check(bounds));
  if (config.head_dim != latent.nope_dim + config.rope.dim)
    return base::error(ErrorCode::corrupt, "heads of {} are not {} without rope and {} with it",
                       config.head_dim, latent.nope_dim, config.rope.dim);
  return base::ok();
}

base::Status check_rope(const RopeConfig& rope, int head_dim) {
  if (rope.dim > head_dim)
    return base::error(ErrorCode::corrupt, "rope rotates {} of {} numbers of a head", rope.dim, head_dim);
  return validate(rope);
}

std::int64_t attention_parameters(const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t out = hidden * config.attention_size();
  if (!config.is_latent()) return out + hidden * (config.q_size() + 2 * config.kv_size());
  const LatentConfig& latent = config.latent;
  const std::int64_t queries =
      latent.q_rank > 0 ? latent.q_rank * (hidden + config.q_size()) : hidden * config.q_size();
  const std::int64_t latents = hidden * (latent.kv_rank + config.rope.dim);
  return out + queries + latents +
         std::int64_t{latent.kv_rank} * config.num_heads * (latent.nope_dim + latent.value_dim);
}

// Counts the numbers of a layer's feed-forward matrices that every token passes through, so without routed
// experts.
std::int64_t feed_forward_parameters(const ModelConfig& config, const LayerConfig& layer) {
  const std::int64_t hidden = config.hidden_size;
  const int num_matrices = config.gated_mlp ? 3 : 2;
  if (!layer.sparse) return num_matrices * hidden * config.intermediate_size;
  const MixtureConfig& mixture = config.mixture;
  return num_matrices * hidden * mixture.shared_intermediate_size + hidden * mixture.num_experts;
}

std::int64_t expert_parameters(const ModelConfig& config, const LayerConfig& layer) {
  if (!layer.sparse) return 0;
  const int num_matrices = config.gated_mlp ? 3 : 2;
  return std::int64_t{num_matrices} * config.hidden_size * config.mixture.num_experts *
         config.mixture.intermediate_size;
}

bool any_layer(const ModelConfig& config, bool (*is)(const LayerConfig& layer)) {
  return std::any_of(config.layers.begin(), config.layers.end(), is);
}

}  // namespace

base::Status validate(const ModelConfig& config) {
  TRY_OK(check_sizes(config));
  TRY_OK(check_factors(config));
  if (static_cast<int>(config.layers.size()) != config.num_layers)
    return base::error(ErrorCode::corrupt, "{} layers are described, the model has {}", config.layers.size(),
                       config.num_layers);
  for (const LayerConfig& layer : config.layers) {
    if (layer.sliding_window < 0)
      return base::error(ErrorCode::corrupt, "a sliding window of {} positions", layer.sliding_window);
  }
  if (any_layer(config, [](const LayerConfig& layer) { return layer.sparse; }))
    TRY_OK(check_mixture(config.mixture));
  if (config.is_latent()) TRY_OK(check_latent(config));
  if (any_layer(config, [](const LayerConfig& layer) { return layer.rope == RopeUse::global; }))
    TRY_OK(check_rope(config.rope, config.head_dim));
  if (any_layer(config, [](const LayerConfig& layer) { return layer.rope == RopeUse::local; }))
    TRY_OK(check_rope(config.local_rope, config.head_dim));
  return base::ok();
}

ParameterCount count_parameters(const ModelConfig& config) {
  ParameterCount count{.head = std::int64_t{config.vocab_size} * config.hidden_size};
  for (const LayerConfig& layer : config.layers) {
    count.shared += attention_parameters(config) + feed_forward_parameters(config, layer);
    count.experts += expert_parameters(config, layer);
  }
  return count;
}

std::int64_t num_parameters(const ModelConfig& config) {
  const ParameterCount count = count_parameters(config);
  return count.shared + count.experts + count.head * (config.tied_embeddings ? 1 : 2);
}

base::Status make_layers(ModelConfig& config) {
  const Bound bound = {"number of layers", config.num_layers, kMaxLayers};
  TRY_OK(check({&bound, 1}));
  config.layers.assign(static_cast<std::size_t>(config.num_layers), LayerConfig{});
  return base::ok();
}

}  // namespace kvasir::model

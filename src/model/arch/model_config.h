#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/arch/rope_config.h"
#include "ops/experts.h"
#include "ops/types/activation.h"

namespace kvasir::model {

enum class NormKind {
  rms,    // weight only
  layer,  // the mean is taken off; weight and bias
};

// Where a half layer (attention, feed-forward) is normalised: x + post(half(pre(x))).
enum class NormPlace { before, after, both };

// Queries and keys are normalised before they are rotated.
enum class QkNorm {
  none,
  heads,  // each head for itself, with one weight for all heads
  whole,  // all heads of a token together
};

enum class RopeUse {
  none,    // positions are not seen by this layer's attention
  global,  // ModelConfig::rope
  local,   // ModelConfig::local_rope
};

// What may differ from layer to layer.
struct LayerConfig {
  int sliding_window = 0;  // positions that a token sees, its own included; 0: all
  RopeUse rope = RopeUse::global;
  bool sparse = false;  // a mixture of experts in place of the one feed-forward
};

// Of a layer that is `sparse`.
struct MixtureConfig {
  int num_experts = 0;
  int num_used = 0;
  int intermediate_size = 0;         // of one expert
  int shared_intermediate_size = 0;  // of the expert that every token passes through; 0: there is none
  bool selection_bias = false;       // a tensor that picks experts but does not weigh them
  ops::RouterScore score = ops::RouterScore::softmax;
  int num_groups = 1;
  int used_groups = 1;
  bool renormalize = true;
  float scale = 1;

  // `bias` [experts], or empty.
  ops::RouterArgs router(std::span<const float> bias) const {
    return {.score = score,
            .num_experts = num_experts,
            .num_used = num_used,
            .num_groups = num_groups,
            .used_groups = used_groups,
            .group_by_top_two = score == ops::RouterScore::sigmoid,
            .renormalize = renormalize,
            .scale = scale,
            .selection_bias = bias};
  }
};

// Multi-head latent attention: keys and values of a token are projections of one latent vector, and that
// vector (with one rotated key that all heads share) is what the KV cache holds. Used where kv_rank is above
// 0; then a query and a key have nope_dim + rope.dim numbers, and head_dim is their sum.
struct LatentConfig {
  int q_rank = 0;  // 0: queries are one projection of the hidden state
  int kv_rank = 0;
  int nope_dim = 0;  // of a query and a key, the numbers without position
  int value_dim = 0;

  static constexpr float kNormEps = 1e-6f;  // of both latents, whatever the other norms have
};

// A decoder's architecture as data: a new family adds a field here before it adds a class.
struct ModelConfig {
  std::string architecture;
  int vocab_size = 0;
  int hidden_size = 0;
  int intermediate_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int context_length = 0;
  std::vector<LayerConfig> layers;  // [num_layers]

  NormKind norm = NormKind::rms;
  NormPlace norm_place = NormPlace::before;
  QkNorm qk_norm = QkNorm::none;
  float norm_eps = 1e-5f;

  ops::Activation activation = ops::Activation::silu;
  bool gated_mlp = true;  // down(activation(gate(x)) * up(x)), else down(activation(up(x)))
  MixtureConfig mixture;

  RopeConfig rope;
  RopeConfig local_rope;  // where a layer uses it
  bool learned_positions = false;
  LatentConfig latent;

  float embedding_scale = 1;
  float attention_scale = 0;  // of a query's dot product with a key; 0: 1 / sqrt(head_dim)
  float attention_softcap = 0;
  float residual_scale = 1;  // of what a half layer adds
  float logit_scale = 1;
  float logit_softcap = 0;

  bool qkv_bias = false;
  bool attention_out_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;

  bool is_latent() const { return latent.kv_rank > 0; }
  bool norm_before() const { return norm_place != NormPlace::after; }
  bool norm_after() const { return norm_place != NormPlace::before; }
  int q_size() const { return num_heads * head_dim; }
  int kv_size() const { return num_kv_heads * head_dim; }
  // What attention gives and its output projection takes.
  int attention_size() const { return num_heads * (is_latent() ? latent.value_dim : head_dim); }
};

// Whether the numbers can be a model at all, and stay far below anything that overflows.
base::Status validate(const ModelConfig& config);

// Numbers in all matrices of a valid config, whatever types a checkpoint stores them in. Norms and biases,
// which are less than a hundredth, are left out.
std::int64_t num_parameters(const ModelConfig& config);

inline constexpr int kMaxLayers = 1 << 12;
// One for each of the config's layers, all alike; an error where their number cannot be right.
base::Status make_layers(ModelConfig& config);

}  // namespace kvasir::model

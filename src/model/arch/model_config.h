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
  rms,    // has a weight, no bias
  layer,  // also subtracts the mean; has a weight and a bias
};

// The norms of a half layer (attention, feed-forward), which computes x + after(half(before(x))).
enum class NormPlace { before, after, both };

// How queries and keys are normalised before they are rotated.
enum class QkNorm {
  none,
  heads,  // each head on its own; all heads share one weight
  whole,  // all heads of a token together
};

enum class RopeUse {
  none,    // this layer's attention does not see positions
  global,  // ModelConfig::rope
  local,   // ModelConfig::local_rope
};

// The settings that may differ from layer to layer.
struct LayerConfig {
  int sliding_window = 0;  // positions that a token sees, with its own; 0: all
  RopeUse rope = RopeUse::global;
  bool sparse = false;  // has a mixture of experts instead of one feed-forward
};

// The experts of a `sparse` layer.
struct MixtureConfig {
  int num_experts = 0;
  int num_used = 0;
  int intermediate_size = 0;         // of one expert
  int shared_intermediate_size = 0;  // of the expert of every token; 0: none
  bool selection_bias = false;       // a tensor affects the choice of experts, not their weights
  ops::RouterScore score = ops::RouterScore::softmax;
  int num_groups = 1;
  int used_groups = 1;
  bool renormalize = true;
  float scale = 1;

  // `bias` has a number for each expert, or is empty.
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

// Multi-head latent attention: keys and values of a token are projections of one latent vector. The KV cache
// holds that vector and one rotated key that all heads share. Used if kv_rank > 0; a query and a key then
// have head_dim = nope_dim + rope.dim numbers.
struct LatentConfig {
  int q_rank = 0;  // 0: queries are projected directly from the hidden state
  int kv_rank = 0;
  int nope_dim = 0;  // numbers of a query and a key that are not rotated
  int value_dim = 0;

  static constexpr float kNormEps = 1e-6f;  // of both latents, whatever the eps of the other norms
};

// A decoder's architecture, as data. A family that computes something new gets a field here rather than a
// class.
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
  RopeConfig local_rope;  // of layers with RopeUse::local
  bool learned_positions = false;
  LatentConfig latent;

  float embedding_scale = 1;
  float attention_scale = 0;  // factor of a query's dot product with a key; 0: 1 / sqrt(head_dim)
  float attention_softcap = 0;
  float residual_scale = 1;  // factor of what a half layer adds
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
  // How many numbers of a token attention passes to its output projection.
  int attention_size() const { return num_heads * (is_latent() ? latent.value_dim : head_dim); }
};

// Fails unless the sizes can describe a model. They are then far too small for any product of them to
// overflow.
base::Status validate(const ModelConfig& config);

// Counts the numbers in all matrices of a valid config, whatever types a checkpoint stores them in. Norms and
// biases, which are less than a hundredth of them, are left out.
std::int64_t num_parameters(const ModelConfig& config);

inline constexpr int kMaxLayers = 1 << 12;
// Fills `layers` with num_layers equal layers. Fails if num_layers is not between 1 and kMaxLayers.
base::Status make_layers(ModelConfig& config);

}  // namespace kvasir::model

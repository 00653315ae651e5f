#pragma once

#include <string>

#include "base/result.h"
#include "model/rope_config.h"

namespace kvasir::model {

enum class Activation { silu };

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
  float norm_eps = 1e-5f;
  Activation activation = Activation::silu;
  RopeConfig rope;
  bool qkv_bias = false;
  bool attention_out_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;

  int q_size() const { return num_heads * head_dim; }
  int kv_size() const { return num_kv_heads * head_dim; }
};

// Whether the numbers can be a model at all, and stay far below anything that overflows.
base::Status validate(const ModelConfig& config);

}  // namespace kvasir::model

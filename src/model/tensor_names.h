#pragma once

#include <string>
#include <string_view>

namespace kvasir::model {

// Which tensor of a checkpoint plays which part. In a layer's names `{}` stands for its number.
struct TensorNames {
  std::string_view embedding;    // [vocab, hidden]
  std::string_view output_norm;  // [hidden]
  std::string_view output;       // [vocab, hidden]; absent where it is the embedding

  std::string_view attention_norm;  // [hidden]
  std::string_view q;               // [heads * head_dim, hidden]
  std::string_view k;               // [kv_heads * head_dim, hidden]
  std::string_view v;               // [kv_heads * head_dim, hidden]
  std::string_view attention_out;   // [hidden, heads * head_dim]
  std::string_view mlp_norm;        // [hidden]
  std::string_view gate;            // [intermediate, hidden]
  std::string_view up;              // [intermediate, hidden]
  std::string_view down;            // [hidden, intermediate]
};

std::string layer_name(std::string_view pattern, int layer);
// "x.weight" → "x.bias", in every format that Kvasir reads.
std::string bias_name(std::string_view weight_name);

// What most families share.
inline constexpr TensorNames kGgufNames = {
    .embedding = "token_embd.weight",
    .output_norm = "output_norm.weight",
    .output = "output.weight",
    .attention_norm = "blk.{}.attn_norm.weight",
    .q = "blk.{}.attn_q.weight",
    .k = "blk.{}.attn_k.weight",
    .v = "blk.{}.attn_v.weight",
    .attention_out = "blk.{}.attn_output.weight",
    .mlp_norm = "blk.{}.ffn_norm.weight",
    .gate = "blk.{}.ffn_gate.weight",
    .up = "blk.{}.ffn_up.weight",
    .down = "blk.{}.ffn_down.weight",
};

inline constexpr TensorNames kHuggingFaceNames = {
    .embedding = "model.embed_tokens.weight",
    .output_norm = "model.norm.weight",
    .output = "lm_head.weight",
    .attention_norm = "model.layers.{}.input_layernorm.weight",
    .q = "model.layers.{}.self_attn.q_proj.weight",
    .k = "model.layers.{}.self_attn.k_proj.weight",
    .v = "model.layers.{}.self_attn.v_proj.weight",
    .attention_out = "model.layers.{}.self_attn.o_proj.weight",
    .mlp_norm = "model.layers.{}.post_attention_layernorm.weight",
    .gate = "model.layers.{}.mlp.gate_proj.weight",
    .up = "model.layers.{}.mlp.up_proj.weight",
    .down = "model.layers.{}.mlp.down_proj.weight",
};

}  // namespace kvasir::model

#pragma once

#include <string>
#include <string_view>

namespace kvasir::model {

// The names of a checkpoint's tensors, and how the tensors are stored. In a name, `{0}` stands for the
// layer's number and `{1}` for the expert's. A name is empty if the family has no such tensor.
struct TensorNames {
  std::string_view embedding;    // [vocab, hidden]
  std::string_view positions;    // [context, hidden]: learned positions
  std::string_view output_norm;  // [hidden]
  std::string_view output;       // [vocab, hidden]; absent if the embedding is used

  std::string_view attention_norm;       // [hidden]
  std::string_view attention_post_norm;  // [hidden]
  std::string_view q;                    // [heads * head_dim, hidden]
  std::string_view k;                    // [kv_heads * head_dim, hidden]
  std::string_view v;                    // [kv_heads * head_dim, hidden]
  std::string_view qkv;                  // q, k and v stacked, instead of three tensors
  std::string_view q_norm;               // [head_dim], or [heads * head_dim]
  std::string_view k_norm;               // [head_dim], or [kv_heads * head_dim]
  std::string_view attention_out;        // [hidden, attention_size]

  std::string_view q_down;        // [q_rank, hidden]
  std::string_view q_down_norm;   // [q_rank]
  std::string_view q_up;          // [heads * head_dim, q_rank]
  std::string_view kv_down;       // [kv_rank + rope, hidden]
  std::string_view kv_down_norm;  // [kv_rank]
  std::string_view kv_up;         // [heads, nope + value, kv_rank]
  std::string_view k_up;          // [heads, kv_rank, nope]: k_up and v_up come instead of kv_up
  std::string_view v_up;          // [heads, value, kv_rank]

  std::string_view mlp_norm;       // [hidden]
  std::string_view mlp_post_norm;  // [hidden]
  std::string_view gate;           // [intermediate, hidden]
  std::string_view up;             // [intermediate, hidden]
  std::string_view gate_up;        // gate and up stacked, instead of two tensors
  std::string_view down;           // [hidden, intermediate]

  std::string_view router;          // [experts, hidden]
  std::string_view selection_bias;  // [experts]
  std::string_view expert_gate;     // [intermediate, hidden]; without `{1}` [experts, intermediate, hidden]
  std::string_view expert_up;
  std::string_view expert_down;
  std::string_view shared_gate;
  std::string_view shared_up;
  std::string_view shared_down;

  std::string_view optional_prefix;  // some of the family's checkpoints begin every name with it
  float norm_offset = 0;             // is added to a norm's stored weight
  bool transposed = false;           // the layers' matrices are stored as [in, out]
};

std::string layer_name(std::string_view pattern, int layer);
std::string expert_name(std::string_view pattern, int layer, int expert);
// Turns "x.weight" into "x.bias". This fits every format that Kvasir reads.
std::string bias_name(std::string_view weight_name);

// The names that most families share.
inline constexpr TensorNames kGgufNames = {
    .embedding = "token_embd.weight",
    .positions = "position_embd.weight",
    .output_norm = "output_norm.weight",
    .output = "output.weight",
    .attention_norm = "blk.{0}.attn_norm.weight",
    .attention_post_norm = "blk.{0}.post_attention_norm.weight",
    .q = "blk.{0}.attn_q.weight",
    .k = "blk.{0}.attn_k.weight",
    .v = "blk.{0}.attn_v.weight",
    .q_norm = "blk.{0}.attn_q_norm.weight",
    .k_norm = "blk.{0}.attn_k_norm.weight",
    .attention_out = "blk.{0}.attn_output.weight",
    .q_down = "blk.{0}.attn_q_a.weight",
    .q_down_norm = "blk.{0}.attn_q_a_norm.weight",
    .q_up = "blk.{0}.attn_q_b.weight",
    .kv_down = "blk.{0}.attn_kv_a_mqa.weight",
    .kv_down_norm = "blk.{0}.attn_kv_a_norm.weight",
    .kv_up = "blk.{0}.attn_kv_b.weight",
    .k_up = "blk.{0}.attn_k_b.weight",
    .v_up = "blk.{0}.attn_v_b.weight",
    .mlp_norm = "blk.{0}.ffn_norm.weight",
    .mlp_post_norm = "blk.{0}.post_ffw_norm.weight",
    .gate = "blk.{0}.ffn_gate.weight",
    .up = "blk.{0}.ffn_up.weight",
    .down = "blk.{0}.ffn_down.weight",
    .router = "blk.{0}.ffn_gate_inp.weight",
    .selection_bias = "blk.{0}.exp_probs_b.bias",
    .expert_gate = "blk.{0}.ffn_gate_exps.weight",
    .expert_up = "blk.{0}.ffn_up_exps.weight",
    .expert_down = "blk.{0}.ffn_down_exps.weight",
    .shared_gate = "blk.{0}.ffn_gate_shexp.weight",
    .shared_up = "blk.{0}.ffn_up_shexp.weight",
    .shared_down = "blk.{0}.ffn_down_shexp.weight",
};

inline constexpr TensorNames kHuggingFaceNames = {
    .embedding = "model.embed_tokens.weight",
    .output_norm = "model.norm.weight",
    .output = "lm_head.weight",
    .attention_norm = "model.layers.{0}.input_layernorm.weight",
    .q = "model.layers.{0}.self_attn.q_proj.weight",
    .k = "model.layers.{0}.self_attn.k_proj.weight",
    .v = "model.layers.{0}.self_attn.v_proj.weight",
    .q_norm = "model.layers.{0}.self_attn.q_norm.weight",
    .k_norm = "model.layers.{0}.self_attn.k_norm.weight",
    .attention_out = "model.layers.{0}.self_attn.o_proj.weight",
    .q_down = "model.layers.{0}.self_attn.q_a_proj.weight",
    .q_down_norm = "model.layers.{0}.self_attn.q_a_layernorm.weight",
    .q_up = "model.layers.{0}.self_attn.q_b_proj.weight",
    .kv_down = "model.layers.{0}.self_attn.kv_a_proj_with_mqa.weight",
    .kv_down_norm = "model.layers.{0}.self_attn.kv_a_layernorm.weight",
    .kv_up = "model.layers.{0}.self_attn.kv_b_proj.weight",
    .mlp_norm = "model.layers.{0}.post_attention_layernorm.weight",
    .gate = "model.layers.{0}.mlp.gate_proj.weight",
    .up = "model.layers.{0}.mlp.up_proj.weight",
    .down = "model.layers.{0}.mlp.down_proj.weight",
    .router = "model.layers.{0}.mlp.gate.weight",
    .selection_bias = "model.layers.{0}.mlp.gate.e_score_correction_bias",
    .expert_gate = "model.layers.{0}.mlp.experts.{1}.gate_proj.weight",
    .expert_up = "model.layers.{0}.mlp.experts.{1}.up_proj.weight",
    .expert_down = "model.layers.{0}.mlp.experts.{1}.down_proj.weight",
    .shared_gate = "model.layers.{0}.mlp.shared_experts.gate_proj.weight",
    .shared_up = "model.layers.{0}.mlp.shared_experts.up_proj.weight",
    .shared_down = "model.layers.{0}.mlp.shared_experts.down_proj.weight",
};

}  // namespace kvasir::model

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/checkpoint/checkpoint.h"
#include "model/file/safetensors_file.h"
#include "model/file/text_file.h"
#include "model/file/weight_file_builder.h"
#include "ops/quant/dequantize.h"

namespace kvasir::model {

// How a converter stores the projections of DeepSeek's latent: older converters write one tensor, newer ones
// two.
enum class LatentTensors { together, apart };

// How matrices are stored: as they are (f32); in GGUF's blocks of 32 bytes and a scale, if their rows allow
// it (q8_0); or as floats with the values that such blocks would have (rounded).
enum class MatrixType { f32, q8_0, rounded };

// Converts a golden checkpoint (config.json, safetensors) to GGUF as llama.cpp's converter would: with its
// names, its keys, and its changes to the numbers. Names and keys are spelled out here, so that the code
// under test does not check itself.
class GoldenGguf {
 public:
  explicit GoldenGguf(const std::filesystem::path& directory, LatentTensors latent = LatentTensors::apart,
                      MatrixType matrices = MatrixType::f32)
      : latent_(latent), matrices_(matrices) {
    auto config = read_json_file(directory / "config.json");
    auto file = SafetensorsFile::open_directory(directory);
    CHECK(config.ok() && file.ok(), "{}", directory.string());
    config_ = std::move(*config);
    file_ = std::move(*file);
    type_ = std::string(config_.at("model_type").as_string());
  }

  GgufBuilder build() {
    builder_.key("general.architecture", arch());
    if (type_ == "gpt2") {
      add_gpt2_keys();
    } else {
      add_keys();
    }
    for (const std::string_view name : file_->names()) add_tensor(std::string(name));
    for (auto& [name, experts] : experts_) put(name, stack(experts));
    return std::move(builder_);
  }

 private:
  struct Tensor {
    tensor::Shape shape;
    std::vector<float> values;
  };

  std::string arch() const {
    const std::map<std::string, std::string> names = {{"mistral", "llama"},
                                                      {"mixtral", "llama"},
                                                      {"gemma3_text", "gemma3"},
                                                      {"qwen3_moe", "qwen3moe"},
                                                      {"deepseek_v3", "deepseek2"}};
    const auto it = names.find(type_);
    return it == names.end() ? type_ : it->second;
  }
  bool is_gemma() const { return type_.starts_with("gemma"); }
  bool permutes() const { return arch() == "llama" || type_ == "smollm3" || type_ == "granite"; }

  bool has(std::string_view field) const {
    const auto* value = config_.if_contains(field);
    return value && !value->is_null();
  }
  std::uint32_t integer(std::string_view field) const {
    return static_cast<std::uint32_t>(config_.at(field).as_int64());
  }
  static float number(const base::json::object& object, std::string_view field) {
    return object.at(field).to_number<float>();
  }
  void u32(std::string_view name, std::uint32_t value) {
    builder_.key(arch() + "." + std::string(name), value);
  }
  void f32(std::string_view name, float value) { builder_.key(arch() + "." + std::string(name), value); }
  void u32_of(std::string_view name, std::string_view field) {
    if (has(field)) u32(name, integer(field));
  }
  void f32_of(std::string_view name, std::string_view field) {
    if (has(field)) f32(name, number(config_, field));
  }

  void add_gpt2_keys() {
    u32_of("block_count", "n_layer");
    u32_of("context_length", "n_positions");
    u32_of("embedding_length", "n_embd");
    u32("feed_forward_length", 4 * integer("n_embd"));
    u32_of("attention.head_count", "n_head");
    f32_of("attention.layer_norm_epsilon", "layer_norm_epsilon");
  }

  void add_keys() {
    u32_of("block_count", "num_hidden_layers");
    u32_of("context_length", "max_position_embeddings");
    u32_of("embedding_length", "hidden_size");
    u32_of("feed_forward_length", "intermediate_size");
    u32_of("attention.head_count", "num_attention_heads");
    f32_of("attention.layer_norm_rms_epsilon", "rms_norm_eps");
    f32_of("attention.layer_norm_epsilon", "layer_norm_eps");
    u32_of("attention.sliding_window", "sliding_window");
    f32_of("attn_logit_softcapping", "attn_logit_softcapping");
    f32_of("final_logit_softcapping", "final_logit_softcapping");
    if (type_ == "bert") {
      u32("pooling_type", 1);
      return;
    }
    add_rope_keys();
    add_mixture_keys();
    if (type_ == "granite") {
      f32_of("attention.scale", "attention_multiplier");
      f32_of("embedding_scale", "embedding_multiplier");
      f32_of("residual_scale", "residual_multiplier");
      f32_of("logit_scale", "logits_scaling");
    }
    if (type_ == "deepseek_v3") return add_latent_keys();
    u32_of("attention.head_count_kv", "num_key_value_heads");
    u32_of("attention.key_length", "head_dim");
    u32_of("attention.value_length", "head_dim");
  }

  void add_rope_keys() {
    const base::json::object* rope = &config_.at("rope_parameters").as_object();
    if (rope->contains("full_attention")) rope = &rope->at("full_attention").as_object();
    f32("rope.freq_base", number(*rope, "rope_theta"));
    const std::string_view type = rope->at("rope_type").as_string();
    if (type == "yarn") {
      builder_.key(arch() + ".rope.scaling.type", "yarn");
      f32("rope.scaling.factor", number(*rope, "factor"));
      u32("rope.scaling.original_context_length",
          static_cast<std::uint32_t>(number(*rope, "original_max_position_embeddings")));
    } else if (type == "llama3") {
      put("rope_freqs.weight", llama3_divisors(*rope));
    }
  }

  Tensor llama3_divisors(const base::json::object& rope) const {
    const float dim = static_cast<float>(integer("head_dim"));
    const float context = number(rope, "original_max_position_embeddings");
    const float low = number(rope, "low_freq_factor");
    const float high = number(rope, "high_freq_factor");
    const float factor = number(rope, "factor");
    Tensor table;
    for (float i = 0; i < dim; i += 2) {
      const float length = 2 * std::numbers::pi_v<float> * std::pow(number(rope, "rope_theta"), i / dim);
      const float smooth = (context / length - low) / (high - low);
      table.values.push_back(length < context / high  ? 1
                             : length > context / low ? factor
                                                      : 1 / ((1 - smooth) / factor + smooth));
    }
    table.shape = {static_cast<std::int64_t>(table.values.size())};
    return table;
  }

  void add_mixture_keys() {
    u32_of("expert_count", "num_local_experts");
    u32_of("expert_count", "n_routed_experts");
    u32_of("expert_used_count", "num_experts_per_tok");
    u32_of("expert_feed_forward_length", "moe_intermediate_size");
    u32_of("expert_shared_count", "n_shared_experts");
    u32_of("leading_dense_block_count", "first_k_dense_replace");
    f32_of("expert_weights_scale", "routed_scaling_factor");
    u32_of("expert_group_count", "n_group");
    u32_of("expert_group_used_count", "topk_group");
    if (type_ != "deepseek_v3") return;
    builder_.flag(arch() + ".expert_weights_norm", config_.at("norm_topk_prob").as_bool());
    u32("expert_gating_func", 2);
  }

  void add_latent_keys() {
    const std::uint32_t rope = integer("qk_rope_head_dim");
    const std::uint32_t key = integer("qk_nope_head_dim") + rope;
    u32_of("attention.q_lora_rank", "q_lora_rank");
    u32_of("attention.kv_lora_rank", "kv_lora_rank");
    u32("rope.dimension_count", rope);
    if (latent_ == LatentTensors::together) {
      u32_of("attention.head_count_kv", "num_key_value_heads");
      u32("attention.key_length", key);
      u32_of("attention.value_length", "v_head_dim");
      return;
    }
    u32("attention.head_count_kv", 1);
    u32("attention.key_length", integer("kv_lora_rank") + rope);
    u32_of("attention.value_length", "kv_lora_rank");
    u32("attention.key_length_mla", key);
    u32_of("attention.value_length_mla", "v_head_dim");
  }

  // Returns the GGUF name of a layer's tensor, without its ".weight" or ".bias".
  std::string layer_part(const std::string& part) const {
    const bool after = is_gemma() || type_ == "olmo2";
    const std::map<std::string, std::string> parts = {
        {"input_layernorm", "attn_norm"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.q_a_proj", "attn_q_a"},
        {"self_attn.q_a_layernorm", "attn_q_a_norm"},
        {"self_attn.q_b_proj", "attn_q_b"},
        {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
        {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
        {"self_attn.kv_b_proj", "attn_kv_b"},
        {"post_attention_layernorm", after ? "post_attention_norm" : "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"mlp.gate_up_proj", "ffn_up"},
        {"mlp.gate", "ffn_gate_inp"},
        {"block_sparse_moe.gate", "ffn_gate_inp"},
        {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
        {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
        {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
        {"ln_1", "attn_norm"},
        {"attn.c_attn", "attn_qkv"},
        {"attn.c_proj", "attn_output"},
        {"ln_2", "ffn_norm"},
        {"mlp.c_fc", "ffn_up"},
        {"mlp.c_proj", "ffn_down"},
        {"attention.self.query", "attn_q"},
        {"attention.self.key", "attn_k"},
        {"attention.self.value", "attn_v"},
        {"attention.output.dense", "attn_output"},
        {"attention.output.LayerNorm", "attn_output_norm"},
        {"intermediate.dense", "ffn_up"},
        {"output.dense", "ffn_down"},
        {"output.LayerNorm", "layer_output_norm"},
        {"w1", "ffn_gate_exps"},
        {"w2", "ffn_down_exps"},
        {"w3", "ffn_up_exps"},
        {"gate_proj", "ffn_gate_exps"},
        {"down_proj", "ffn_down_exps"},
        {"up_proj", "ffn_up_exps"},
    };
    return parts.at(part);
  }

  static std::string whole_part(const std::string& part) {
    const std::map<std::string, std::string> parts = {
        {"model.embed_tokens", "token_embd"},
        {"model.norm", "output_norm"},
        {"lm_head", "output"},
        {"transformer.wte", "token_embd"},
        {"transformer.wpe", "position_embd"},
        {"transformer.ln_f", "output_norm"},
        {"embeddings.word_embeddings", "token_embd"},
        {"embeddings.position_embeddings", "position_embd"},
        {"embeddings.token_type_embeddings", "token_types"},
        {"embeddings.LayerNorm", "token_embd_norm"},
    };
    return parts.at(part);
  }

  void add_tensor(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    const std::string stem = name.substr(0, dot);
    const std::string suffix = name.substr(dot);  // ".weight" or ".bias"
    for (const std::string_view prefix : {"model.layers.", "transformer.h.", "encoder.layer."}) {
      if (!stem.starts_with(prefix)) continue;
      const std::size_t end = stem.find('.', prefix.size());
      const std::string block = "blk." + stem.substr(prefix.size(), end - prefix.size()) + ".";
      return add_layer_tensor(name, block, stem.substr(end + 1), suffix);
    }
    put(whole_part(stem) + suffix, adjusted(read(name), name));
  }

  void add_layer_tensor(const std::string& name, const std::string& block, const std::string& part,
                        const std::string& suffix) {
    if (suffix == ".e_score_correction_bias") return put(block + "exp_probs_b.bias", read(name));
    if (const std::size_t at = part.find(".experts."); at != std::string::npos) {
      const std::size_t number = at + std::string_view(".experts.").size();
      const std::size_t end = part.find('.', number);
      const int index = std::stoi(part.substr(number, end - number));
      experts_[block + layer_part(part.substr(end + 1)) + suffix][index] = read(name);
      return;
    }
    const std::string to = layer_part(part);
    Tensor tensor = adjusted(read(name), name);
    if (permutes() && to == "attn_q") tensor = permuted(tensor, integer("num_attention_heads"));
    if (permutes() && to == "attn_k") tensor = permuted(tensor, integer("num_key_value_heads"));
    if (to == "attn_kv_b" && latent_ == LatentTensors::apart) return put_latent(block, tensor);
    put(block + to + suffix, std::move(tensor));
  }

  Tensor read(const std::string& name) const {
    const auto view = file_->find(name);
    CHECK(view.ok(), "{}", name);
    Tensor tensor = {view->shape,
                     std::vector<float>(static_cast<std::size_t>(tensor::num_elems(view->shape)))};
    ops::dequantize(view->type, view->data, tensor.values);
    return tensor;
  }

  Tensor adjusted(Tensor tensor, const std::string& name) const {
    if (is_gemma() && name.ends_with("norm.weight")) {
      for (float& value : tensor.values) value += 1;
    }
    if (type_ == "gpt2" && name.find(".c_") != std::string::npos && tensor.shape.size() == 2)
      return transposed(tensor.values.data(), tensor.shape[0], tensor.shape[1]);
    return tensor;
  }

  static Tensor transposed(const float* values, std::int64_t rows, std::int64_t cols) {
    Tensor turned = {{cols, rows}, {}};
    for (std::int64_t c = 0; c < cols; ++c) {
      for (std::int64_t r = 0; r < rows; ++r) turned.values.push_back(values[r * cols + c]);
    }
    return turned;
  }

  // Returns the tensor with the rows of each head in the order 0, d/2, 1, d/2 + 1, …
  static Tensor permuted(const Tensor& tensor, std::uint32_t num_heads) {
    const auto rows = static_cast<std::size_t>(tensor.shape[0]);
    const std::size_t cols = tensor.values.size() / rows;
    const std::size_t dim = rows / num_heads;
    Tensor out = {tensor.shape, {}};
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t i = row % dim;
      const std::size_t source = row - i + i % 2 * (dim / 2) + i / 2;
      const auto first = tensor.values.begin() + static_cast<std::ptrdiff_t>(source * cols);
      out.values.insert(out.values.end(), first, first + static_cast<std::ptrdiff_t>(cols));
    }
    return out;
  }

  void put_latent(const std::string& block, const Tensor& tensor) {
    const std::int64_t heads = integer("num_attention_heads");
    const std::int64_t nope = integer("qk_nope_head_dim");
    const std::int64_t value = integer("v_head_dim");
    const std::int64_t rank = integer("kv_lora_rank");
    Tensor keys = {{heads, rank, nope}, {}};
    Tensor values = {{heads, value, rank}, {}};
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* head = tensor.values.data() + h * (nope + value) * rank;
      const Tensor turned = transposed(head, nope, rank);
      keys.values.insert(keys.values.end(), turned.values.begin(), turned.values.end());
      values.values.insert(values.values.end(), head + nope * rank, head + (nope + value) * rank);
    }
    put(block + "attn_k_b.weight", std::move(keys));
    put(block + "attn_v_b.weight", std::move(values));
  }

  static Tensor stack(const std::map<int, Tensor>& experts) {
    Tensor all = {experts.begin()->second.shape, {}};
    all.shape.insert(all.shape.begin(), static_cast<std::int64_t>(experts.size()));
    for (const auto& [index, expert] : experts)
      all.values.insert(all.values.end(), expert.values.begin(), expert.values.end());
    return all;
  }

  void put(const std::string& name, Tensor tensor) {
    const std::vector<std::uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    if (matrices_ == MatrixType::f32 || dims.size() < 2 || dims[0] % 32 != 0) {
      builder_.tensor(name, dims, 0, float_bytes(tensor.values));
      return;
    }
    const std::string blocks = q8_0_bytes(tensor.values);
    if (matrices_ == MatrixType::q8_0) {
      builder_.tensor(name, dims, 8, blocks);
      return;
    }
    ops::dequantize(tensor::DType::q8_0, reinterpret_cast<const std::byte*>(blocks.data()), tensor.values);
    builder_.tensor(name, dims, 0, float_bytes(tensor.values));
  }

  static std::string q8_0_bytes(const std::vector<float>& values) {
    std::string bytes;
    for (auto block = values.begin(); block != values.end(); block += 32) {
      float largest = 0;
      for (auto value = block; value != block + 32; ++value) largest = std::max(largest, std::abs(*value));
      const std::uint16_t scale = ops::f32_to_f16(largest / 127);
      bytes.append(reinterpret_cast<const char*>(&scale), sizeof(scale));
      const float factor = largest > 0 ? 127 / largest : 0;
      for (auto value = block; value != block + 32; ++value)
        bytes += static_cast<char>(std::lround(*value * factor));
    }
    return bytes;
  }

  LatentTensors latent_;
  MatrixType matrices_;
  std::string type_;
  base::json::object config_;
  std::shared_ptr<const WeightFile> file_;
  std::map<std::string, std::map<int, Tensor>> experts_;
  GgufBuilder builder_;
};

}  // namespace kvasir::model

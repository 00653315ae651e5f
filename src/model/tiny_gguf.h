#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint.h"
#include "model/weight_file_builder.h"

namespace kvasir::model {

// The same llama as GGUF: other names, other keys, and Q and K reordered for interleaved rope.
inline GgufBuilder llama_as_gguf(const Checkpoint& checkpoint) {
  const ModelConfig& c = checkpoint.config;
  const auto u32 = [](int value) { return static_cast<std::uint32_t>(value); };
  GgufBuilder builder;
  builder.key("general.architecture", "llama")
      .key("llama.block_count", u32(c.num_layers))
      .key("llama.context_length", u32(c.context_length))
      .key("llama.embedding_length", u32(c.hidden_size))
      .key("llama.feed_forward_length", u32(c.intermediate_size))
      .key("llama.attention.head_count", u32(c.num_heads))
      .key("llama.attention.head_count_kv", u32(c.num_kv_heads))
      .key("llama.attention.layer_norm_rms_epsilon", c.norm_eps)
      .key("llama.rope.freq_base", static_cast<float>(c.rope.theta));
  const auto add = [&](std::string_view from, std::string_view to, int num_heads) {
    const tensor::TensorView view = *checkpoint.weights->find(from);
    std::vector<std::uint64_t> dims(view.shape.rbegin(), view.shape.rend());
    std::string data(reinterpret_cast<const char*>(view.data), static_cast<std::size_t>(view.bytes()));
    const std::size_t row_bytes = data.size() / static_cast<std::size_t>(view.rows());
    const std::string plain = data;
    const std::size_t half = static_cast<std::size_t>(c.head_dim) / 2;
    for (std::size_t head = 0; head < static_cast<std::size_t>(num_heads); ++head) {
      for (std::size_t i = 0; i < 2 * half; ++i) {
        const std::size_t source = head * 2 * half + (i % 2) * half + i / 2;
        data.replace((head * 2 * half + i) * row_bytes, row_bytes,
                     plain.substr(source * row_bytes, row_bytes));
      }
    }
    builder.tensor(to, dims, 30, data);
  };
  const TensorNames& hf = kHuggingFaceNames;
  add(hf.embedding, kGgufNames.embedding, 0);
  add(hf.output_norm, kGgufNames.output_norm, 0);
  add(hf.output, kGgufNames.output, 0);
  for (int i = 0; i < c.num_layers; ++i) {
    const auto layer = [&](std::string_view from, std::string_view to, int num_heads) {
      add(layer_name(from, i), layer_name(to, i), num_heads);
    };
    layer(hf.attention_norm, kGgufNames.attention_norm, 0);
    layer(hf.q, kGgufNames.q, c.num_heads);
    layer(hf.k, kGgufNames.k, c.num_kv_heads);
    layer(hf.v, kGgufNames.v, 0);
    layer(hf.attention_out, kGgufNames.attention_out, 0);
    layer(hf.mlp_norm, kGgufNames.mlp_norm, 0);
    layer(hf.gate, kGgufNames.gate, 0);
    layer(hf.up, kGgufNames.up, 0);
    layer(hf.down, kGgufNames.down, 0);
  }
  return builder;
}

}  // namespace kvasir::model

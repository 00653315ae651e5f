#include "model/arch/gguf_fields.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "model/tensor_names.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

class Fields {
 public:
  Fields(const Metadata& metadata, std::string_view prefix) : metadata_(metadata), prefix_(prefix) {}

  base::Result<int> integer(std::string_view key) const {
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
  base::Result<int> integer_or(std::string_view key, int fallback) const {
    return metadata_.contains(full(key)) ? integer(key) : base::Result<int>(fallback);
  }
  double number_or(std::string_view key, double fallback) const {
    return metadata_.number(full(key)).value_or(fallback);
  }
  std::string_view string_or(std::string_view key, std::string_view fallback) const {
    return metadata_.string(full(key)).value_or(fallback);
  }

 private:
  std::string full(std::string_view key) const { return fmt::format("{}.{}", prefix_, key); }

  const Metadata& metadata_;
  std::string_view prefix_;
};

base::Status read_scaling(const Fields& fields, RopeConfig& rope, int context_length) {
  const std::string_view type = fields.string_or("rope.scaling.type", "none");
  rope.factor = fields.number_or("rope.scaling.factor", fields.number_or("rope.scale_linear", 1));
  if (type == "yarn") {
    rope.scaling = RopeScaling::yarn;
    rope.original_context = fields.number_or("rope.scaling.original_context_length", context_length);
    rope.beta_fast = fields.number_or("rope.scaling.yarn_beta_fast", rope.beta_fast);
    rope.beta_slow = fields.number_or("rope.scaling.yarn_beta_slow", rope.beta_slow);
    // The file's factor multiplies the one that follows from the scaling.
    const double multiplier = fields.number_or("rope.scaling.attn_factor", 1);
    rope.attention_factor = multiplier * (rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1);
  } else if (type == "linear" || (type == "none" && rope.factor != 1)) {
    rope.scaling = RopeScaling::linear;
  } else if (type != "none") {
    return base::error(ErrorCode::unsupported, "rope scaling {:?}", type);
  }
  return base::ok();
}

// Llama 3's scaling arrives as a table of divisors rather than as its parameters.
base::Status read_divisors(const WeightFile& file, RopeConfig& rope) {
  constexpr std::string_view kName = "rope_freqs.weight";
  if (!file.contains(kName)) return base::ok();
  TRY(const tensor::TensorView table, file.find(kName));
  if (table.type != tensor::DType::f32 || table.shape.size() != 1 || table.cols() * 2 != rope.dim)
    return base::error(ErrorCode::corrupt, "{} is not a row of {} F32 numbers", kName, rope.dim / 2);
  rope.freq_divisors.resize(static_cast<std::size_t>(table.cols()));
  std::memcpy(rope.freq_divisors.data(), table.data, static_cast<std::size_t>(table.bytes()));
  return base::ok();
}

}  // namespace

base::Result<ModelConfig> read_gguf_fields(const WeightFile& file, std::string_view prefix) {
  const Fields fields(file.metadata(), prefix);
  ModelConfig config;
  config.architecture = prefix;
  TRY(config.num_layers, fields.integer("block_count"));
  TRY(config.context_length, fields.integer("context_length"));
  TRY(config.hidden_size, fields.integer("embedding_length"));
  TRY(config.intermediate_size, fields.integer("feed_forward_length"));
  TRY(config.num_heads, fields.integer("attention.head_count"));
  TRY(config.num_kv_heads, fields.integer_or("attention.head_count_kv", config.num_heads));
  if (config.num_heads < 1) return base::error(ErrorCode::corrupt, "{} attention heads", config.num_heads);
  TRY(config.head_dim, fields.integer_or("attention.key_length", config.hidden_size / config.num_heads));
  TRY(const int value_dim, fields.integer_or("attention.value_length", config.head_dim));
  if (value_dim != config.head_dim)
    return base::error(ErrorCode::unsupported, "keys of {} and values of {} numbers a head", config.head_dim,
                       value_dim);
  TRY(const int num_experts, fields.integer_or("expert_count", 0));
  if (num_experts > 0) return base::error(ErrorCode::unsupported, "a mixture of {} experts", num_experts);
  config.norm_eps = static_cast<float>(fields.number_or("attention.layer_norm_rms_epsilon", 1e-5));

  TRY(config.rope.dim, fields.integer_or("rope.dimension_count", config.head_dim));
  config.rope.theta = fields.number_or("rope.freq_base", 10000);
  TRY_OK(read_scaling(fields, config.rope, config.context_length));
  TRY_OK(read_divisors(file, config.rope));

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

}  // namespace kvasir::model

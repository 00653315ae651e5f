#include "model/arch/encoder_config.h"

#include <cmath>
#include <limits>

#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

using base::ErrorCode;

constexpr EncoderNames kGgufEncoderNames = {
    .embedding = "token_embd.weight",
    .positions = "position_embd.weight",
    .token_types = "token_types.weight",
    .embedding_norm = "token_embd_norm.weight",
    .q = "blk.{0}.attn_q.weight",
    .k = "blk.{0}.attn_k.weight",
    .v = "blk.{0}.attn_v.weight",
    .attention_out = "blk.{0}.attn_output.weight",
    .attention_norm = "blk.{0}.attn_output_norm.weight",
    .up = "blk.{0}.ffn_up.weight",
    .down = "blk.{0}.ffn_down.weight",
    .mlp_norm = "blk.{0}.layer_output_norm.weight",
};

constexpr EncoderNames kHuggingFaceEncoderNames = {
    .embedding = "embeddings.word_embeddings.weight",
    .positions = "embeddings.position_embeddings.weight",
    .token_types = "embeddings.token_type_embeddings.weight",
    .embedding_norm = "embeddings.LayerNorm.weight",
    .q = "encoder.layer.{0}.attention.self.query.weight",
    .k = "encoder.layer.{0}.attention.self.key.weight",
    .v = "encoder.layer.{0}.attention.self.value.weight",
    .attention_out = "encoder.layer.{0}.attention.output.dense.weight",
    .attention_norm = "encoder.layer.{0}.attention.output.LayerNorm.weight",
    .up = "encoder.layer.{0}.intermediate.dense.weight",
    .down = "encoder.layer.{0}.output.dense.weight",
    .mlp_norm = "encoder.layer.{0}.output.LayerNorm.weight",
    .optional_prefix = "bert.",
};

bool is_encoder(std::string_view architecture) {
  return architecture == "bert";
}

base::Result<EncoderConfig> read_gguf_encoder(const WeightFile& file) {
  const GgufFields fields(file.metadata(), "bert");
  EncoderConfig config;
  config.architecture = "bert";
  TRY(config.num_layers, fields.integer("block_count"));
  TRY(config.num_positions, fields.integer("context_length"));
  config.context_length = config.num_positions;
  TRY(config.hidden_size, fields.integer("embedding_length"));
  TRY(config.intermediate_size, fields.integer("feed_forward_length"));
  TRY(config.num_heads, fields.integer("attention.head_count"));
  TRY(config.norm_eps, fields.float_or("attention.layer_norm_epsilon", 1e-12f));
  TRY(const int pooling, fields.integer_or("pooling_type", 1));
  if (pooling != 1 && pooling != 2)
    return base::error(ErrorCode::unsupported, "bert.pooling_type {} (known: 1 mean, 2 first)", pooling);
  config.pooling = pooling == 1 ? Pooling::mean : Pooling::first;
  const std::string_view names[] = {kGgufEncoderNames.embedding, kGgufEncoderNames.token_types};
  int* const rows[] = {&config.vocab_size, &config.num_token_types};
  for (std::size_t i = 0; i < 2; ++i) {
    TRY(const tensor::TensorView table, file.find(names[i]));
    if (table.rows() > std::numeric_limits<int>::max())
      return base::error(ErrorCode::corrupt, "{} has {} rows", names[i], table.rows());
    *rows[i] = static_cast<int>(table.rows());
  }
  return config;
}

base::Result<EncoderConfig> read_json_encoder(const base::json::object& json) {
  TRY(const std::string positions, json_string_or(json, "position_embedding_type", "absolute"));
  if (positions != "absolute")
    return base::error(ErrorCode::unsupported, "position_embedding_type {:?}", positions);
  EncoderConfig config;
  config.architecture = "bert";
  TRY(config.activation, json_activation(json, "hidden_act"));
  TRY(config.vocab_size, json_integer(json, "vocab_size"));
  TRY(config.num_token_types, json_integer_or(json, "type_vocab_size", 2));
  TRY(config.hidden_size, json_integer(json, "hidden_size"));
  TRY(config.intermediate_size, json_integer(json, "intermediate_size"));
  TRY(config.num_layers, json_integer(json, "num_hidden_layers"));
  TRY(config.num_heads, json_integer(json, "num_attention_heads"));
  TRY(config.num_positions, json_integer(json, "max_position_embeddings"));
  config.context_length = config.num_positions;
  TRY(config.norm_eps, json_float_or(json, "layer_norm_eps", 1e-12f));
  return config;
}

base::Status validate(const EncoderConfig& config) {
  struct Bound {
    const char* name;
    int value;
    int max;
  };
  const Bound bounds[] = {
      {"vocabulary size", config.vocab_size, 1 << 24},
      {"number of token types", config.num_token_types, 1 << 16},
      {"hidden size", config.hidden_size, 1 << 16},
      {"intermediate size", config.intermediate_size, 1 << 20},
      {"number of layers", config.num_layers, 1 << 12},
      {"number of heads", config.num_heads, 1 << 12},
      {"number of positions", config.num_positions, 1 << 20},
      {"context length", config.context_length, config.num_positions},
  };
  for (const Bound& bound : bounds) {
    if (bound.value < 1 || bound.value > bound.max)
      return base::error(ErrorCode::corrupt, "{} {} is not between 1 and {}", bound.name, bound.value,
                         bound.max);
  }
  if (config.hidden_size % config.num_heads != 0)
    return base::error(ErrorCode::corrupt, "a hidden size of {} for {} heads", config.hidden_size,
                       config.num_heads);
  if (!std::isfinite(config.norm_eps) || config.norm_eps < 0)
    return base::error(ErrorCode::corrupt, "the norm's epsilon is {}", config.norm_eps);
  return base::ok();
}

}  // namespace kvasir::model

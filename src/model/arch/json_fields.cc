#include "model/arch/json_fields.h"

#include <limits>
#include <string>

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

const json::value* find(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && !value->is_null() ? value : nullptr;
}

base::Error wrong_kind(std::string_view key, std::string_view wanted) {
  return base::error(ErrorCode::corrupt, "{} is no {}", key, wanted);
}

base::Result<std::string> string_or(const json::object& object, std::string_view key,
                                    std::string_view fallback) {
  const json::value* value = find(object, key);
  if (!value) return std::string(fallback);
  const auto* text = value->if_string();
  if (!text) return wrong_kind(key, "string");
  return std::string(*text);
}

base::Status read_scaling(const json::object& fields, RopeConfig& rope, int context_length) {
  TRY(const std::string old_spelling, string_or(fields, "type", "default"));
  TRY(const std::string type, string_or(fields, "rope_type", old_spelling));
  if (type == "default") return base::ok();
  if (type == "linear") {
    rope.scaling = RopeScaling::linear;
  } else if (type == "llama3") {
    rope.scaling = RopeScaling::llama3;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::yarn;
  } else {
    return base::error(ErrorCode::unsupported, "rope scaling {:?}", type);
  }
  TRY(rope.factor, json_number_or(fields, "factor", 1));
  TRY(rope.original_context, json_number_or(fields, "original_max_position_embeddings", context_length));
  TRY(rope.low_freq_factor, json_number_or(fields, "low_freq_factor", rope.low_freq_factor));
  TRY(rope.high_freq_factor, json_number_or(fields, "high_freq_factor", rope.high_freq_factor));
  TRY(rope.beta_fast, json_number_or(fields, "beta_fast", rope.beta_fast));
  TRY(rope.beta_slow, json_number_or(fields, "beta_slow", rope.beta_slow));
  TRY(rope.attention_factor, json_number_or(fields, "attention_factor", 0));
  TRY(rope.mscale, json_number_or(fields, "mscale", 0));
  TRY(rope.mscale_all_dim, json_number_or(fields, "mscale_all_dim", 0));
  TRY(rope.truncate, json_boolean_or(fields, "truncate", true));
  return base::ok();
}

// transformers 5 keeps everything in rope_parameters, before that it was rope_theta and rope_scaling.
base::Status read_rope(const json::object& config, ModelConfig& model) {
  RopeConfig& rope = model.rope;
  TRY(double partial, json_number_or(config, "partial_rotary_factor", 1));
  TRY(rope.theta, json_number_or(config, "rope_theta", 10000));
  const json::value* scaling = find(config, "rope_parameters");
  if (!scaling) scaling = find(config, "rope_scaling");
  if (scaling) {
    const auto* fields = scaling->if_object();
    if (!fields) return wrong_kind("rope_scaling", "object");
    TRY(rope.theta, json_number_or(*fields, "rope_theta", rope.theta));
    TRY(partial, json_number_or(*fields, "partial_rotary_factor", partial));
    TRY_OK(read_scaling(*fields, rope, model.context_length));
  }
  if (!(partial > 0 && partial <= 1))
    return base::error(ErrorCode::corrupt, "partial_rotary_factor is {}", partial);
  rope.dim = static_cast<int>(model.head_dim * partial);
  return base::ok();
}

}  // namespace

base::Result<int> json_integer(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value) return base::error(ErrorCode::corrupt, "no {}", key);
  const auto* number = value->if_int64();
  if (!number || *number < std::numeric_limits<int>::min() || *number > std::numeric_limits<int>::max())
    return wrong_kind(key, "integer that fits");
  return static_cast<int>(*number);
}

base::Result<int> json_integer_or(const json::object& object, std::string_view key, int fallback) {
  return find(object, key) ? json_integer(object, key) : base::Result<int>(fallback);
}

base::Result<double> json_number_or(const json::object& object, std::string_view key, double fallback) {
  const json::value* value = find(object, key);
  if (!value) return fallback;
  if (!value->is_number()) return wrong_kind(key, "number");
  boost::system::error_code ignored;
  return value->to_number<double>(ignored);
}

base::Result<bool> json_boolean_or(const json::object& object, std::string_view key, bool fallback) {
  const json::value* value = find(object, key);
  if (!value) return fallback;
  const auto* flag = value->if_bool();
  if (!flag) return wrong_kind(key, "boolean");
  return *flag;
}

base::Result<ModelConfig> read_json_fields(const json::object& config) {
  if (find(config, "quantization_config"))
    return base::error(ErrorCode::unsupported, "a checkpoint with a quantization_config");
  TRY(const std::string activation, string_or(config, "hidden_act", "silu"));
  if (activation != "silu") return base::error(ErrorCode::unsupported, "hidden_act {:?}", activation);
  ModelConfig model;
  TRY(model.architecture, string_or(config, "model_type", ""));
  TRY(model.vocab_size, json_integer(config, "vocab_size"));
  TRY(model.hidden_size, json_integer(config, "hidden_size"));
  TRY(model.intermediate_size, json_integer(config, "intermediate_size"));
  TRY(model.num_layers, json_integer(config, "num_hidden_layers"));
  TRY(model.num_heads, json_integer(config, "num_attention_heads"));
  TRY(model.num_kv_heads, json_integer_or(config, "num_key_value_heads", model.num_heads));
  if (model.num_heads < 1)
    return base::error(ErrorCode::corrupt, "num_attention_heads is {}", model.num_heads);
  TRY(model.head_dim, json_integer_or(config, "head_dim", model.hidden_size / model.num_heads));
  TRY(model.context_length, json_integer(config, "max_position_embeddings"));
  TRY(const double eps, json_number_or(config, "rms_norm_eps", 1e-6));
  model.norm_eps = static_cast<float>(eps);
  TRY(model.tied_embeddings, json_boolean_or(config, "tie_word_embeddings", false));
  TRY_OK(read_rope(config, model));
  return model;
}

}  // namespace kvasir::model

#include "model/arch/json_fields.h"

#include <cmath>
#include <limits>

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

// Longrope has two tables of divisors: one for texts within the original context, one for longer texts. All
// tokens must share one table, because cached keys are already rotated. The long table is used if the context
// exceeds the original one.
base::Status read_longrope(const json::object& fields, int context_length, RopeConfig& rope) {
  if (!(rope.original_context > 1))
    return base::error(ErrorCode::corrupt, "original_max_position_embeddings is {}", rope.original_context);
  const double factor = context_length / rope.original_context;
  TRY(const std::vector<double> divisors,
      json_numbers_or_none(fields, factor > 1 ? "long_factor" : "short_factor"));
  if (divisors.empty()) return base::error(ErrorCode::corrupt, "longrope has no factors");
  rope.freq_divisors.assign(divisors.begin(), divisors.end());
  const double computed =
      factor > 1 ? std::sqrt(1 + std::log(factor) / std::log(rope.original_context)) : 1.0;
  TRY(rope.attention_factor, json_number_or(fields, "attention_factor", computed));
  return base::ok();
}

base::Status read_scaling(const json::object& fields, int context_length, RopeConfig& rope) {
  TRY(const std::string old_spelling, json_string_or(fields, "type", "default"));
  TRY(const std::string type, json_string_or(fields, "rope_type", old_spelling));
  if (type == "default") return base::ok();
  TRY(rope.original_context,
      json_number_or(fields, "original_max_position_embeddings",
                     rope.original_context > 0 ? rope.original_context : context_length));
  if (type == "longrope" || type == "su") return read_longrope(fields, context_length, rope);
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

base::Status read_rotated_part(const json::object& fields, int head_dim, RopeConfig& rope) {
  if (!find(fields, "partial_rotary_factor")) return base::ok();
  TRY(const double partial, json_number_or(fields, "partial_rotary_factor", 1));
  if (!(partial > 0 && partial <= 1))
    return base::error(ErrorCode::corrupt, "partial_rotary_factor is {}", partial);
  rope.dim = static_cast<int>(head_dim * partial);
  return base::ok();
}

// transformers 5 keeps all rope fields in rope_parameters; earlier versions use rope_theta and rope_scaling.
base::Status read_rope(const json::object& config, ModelConfig& model) {
  model.rope.dim = model.head_dim;
  TRY_OK(read_rotated_part(config, model.head_dim, model.rope));
  TRY(model.rope.theta, json_number_or(config, "rope_theta", 10000));
  TRY(model.rope.original_context, json_number_or(config, "original_max_position_embeddings", 0));
  TRY(const json::object* parameters, json_object_or_none(config, "rope_parameters"));
  if (!parameters) {
    TRY(parameters, json_object_or_none(config, "rope_scaling"));
  }
  return parameters ? read_json_rope(*parameters, model, model.rope) : base::ok();
}

}  // namespace

base::Status read_json_rope(const json::object& fields, const ModelConfig& model, RopeConfig& rope) {
  TRY(rope.theta, json_number_or(fields, "rope_theta", rope.theta));
  TRY_OK(read_rotated_part(fields, model.head_dim, rope));
  return read_scaling(fields, model.context_length, rope);
}

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

base::Result<float> json_float_or(const json::object& object, std::string_view key, float fallback) {
  TRY(const double number, json_number_or(object, key, fallback));
  return static_cast<float>(number);
}

base::Result<bool> json_boolean_or(const json::object& object, std::string_view key, bool fallback) {
  const json::value* value = find(object, key);
  if (!value) return fallback;
  const auto* flag = value->if_bool();
  if (!flag) return wrong_kind(key, "boolean");
  return *flag;
}

base::Result<std::string> json_string_or(const json::object& object, std::string_view key,
                                         std::string_view fallback) {
  const json::value* value = find(object, key);
  if (!value) return std::string(fallback);
  const auto* text = value->if_string();
  if (!text) return wrong_kind(key, "string");
  return std::string(*text);
}

base::Result<std::vector<double>> json_numbers_or_none(const json::object& object, std::string_view key) {
  std::vector<double> numbers;
  const json::value* value = find(object, key);
  if (!value) return numbers;
  const auto* list = value->if_array();
  if (!list) return wrong_kind(key, "list");
  boost::system::error_code ignored;
  for (const json::value& item : *list) {
    if (!item.is_number()) return wrong_kind(key, "list of numbers");
    numbers.push_back(item.to_number<double>(ignored));
  }
  return numbers;
}

base::Result<const json::object*> json_object_or_none(const json::object& object, std::string_view key) {
  const json::value* value = find(object, key);
  if (!value) return static_cast<const json::object*>(nullptr);
  const auto* fields = value->if_object();
  if (!fields) return wrong_kind(key, "object");
  return fields;
}

base::Result<ops::Activation> json_activation(const json::object& config, std::string_view key) {
  TRY(const std::string name, json_string_or(config, key, "silu"));
  if (name == "silu" || name == "swish") return ops::Activation::silu;
  if (name == "gelu") return ops::Activation::gelu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_tanh")
    return ops::Activation::gelu_tanh;
  return base::error(ErrorCode::unsupported, "{} {:?}", key, name);
}

base::Result<ModelConfig> read_json_fields(const json::object& config) {
  ModelConfig model;
  TRY(model.activation,
      json_activation(config, find(config, "hidden_activation") ? "hidden_activation" : "hidden_act"));
  TRY(model.architecture, json_string_or(config, "model_type", ""));
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
  TRY(model.norm_eps, json_float_or(config, "rms_norm_eps", 1e-6f));
  TRY(model.tied_embeddings, json_boolean_or(config, "tie_word_embeddings", false));
  TRY_OK(make_layers(model));
  TRY_OK(read_rope(config, model));
  return model;
}

base::Status read_json_biases(const json::object& config, ModelConfig& model) {
  TRY(model.qkv_bias, json_boolean_or(config, "attention_bias", false));
  model.attention_out_bias = model.qkv_bias;
  TRY(model.mlp_bias, json_boolean_or(config, "mlp_bias", false));
  return base::ok();
}

base::Status read_json_window(const json::object& config, ModelConfig& model,
                              bool (*slides)(const json::object& config, int layer)) {
  TRY(const int window, json_integer_or(config, "sliding_window", 0));
  if (window == 0) return base::ok();
  const json::value* types = find(config, "layer_types");
  const auto* list = types ? types->if_array() : nullptr;
  if (types && (!list || list->size() != model.layers.size()))
    return base::error(ErrorCode::corrupt, "layer_types is no list of {} layers", model.layers.size());
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    bool sliding = false;
    if (list) {
      const auto* name = (*list)[i].if_string();
      if (!name || (*name != "sliding_attention" && *name != "full_attention"))
        return base::error(ErrorCode::unsupported, "layer_types has {}", json::serialize((*list)[i]));
      sliding = *name == "sliding_attention";
    } else {
      sliding = slides(config, static_cast<int>(i));
    }
    if (sliding) model.layers[i].sliding_window = window;
  }
  return base::ok();
}

}  // namespace kvasir::model

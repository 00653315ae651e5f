#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/arch/model_config.h"

namespace kvasir::model {

// What config.json keeps under the same keys for most families: dimensions, epsilon, activation, rope and
// its scaling (both of transformers' spellings), tied embeddings. The rope style is neox, the layers are
// alike.
base::Result<ModelConfig> read_json_fields(const base::json::object& config);
// The attention_bias and mlp_bias of the families that have them.
base::Status read_json_biases(const base::json::object& config, ModelConfig& model);
// rope_theta and the scaling of one set of rope_parameters.
base::Status read_json_rope(const base::json::object& fields, const ModelConfig& model, RopeConfig& rope);
// Sets the sliding window of the layers that `layer_types` names so. Without that key, of those for which
// slides(layer) is true.
base::Status read_json_window(const base::json::object& config, ModelConfig& model,
                              bool (*slides)(const base::json::object& config, int layer));
base::Result<ops::Activation> json_activation(const base::json::object& config, std::string_view key);

// Typed fields; absent and null are the fallback, another kind is an error that names the key.
base::Result<int> json_integer(const base::json::object& object, std::string_view key);
base::Result<int> json_integer_or(const base::json::object& object, std::string_view key, int fallback);
base::Result<double> json_number_or(const base::json::object& object, std::string_view key, double fallback);
base::Result<float> json_float_or(const base::json::object& object, std::string_view key, float fallback);
base::Result<bool> json_boolean_or(const base::json::object& object, std::string_view key, bool fallback);
base::Result<std::string> json_string_or(const base::json::object& object, std::string_view key,
                                         std::string_view fallback);
base::Result<std::vector<double>> json_numbers_or_none(const base::json::object& object,
                                                       std::string_view key);
// Null where absent.
base::Result<const base::json::object*> json_object_or_none(const base::json::object& object,
                                                            std::string_view key);

}  // namespace kvasir::model

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/arch/model_config.h"

namespace kvasir::model {

// Reads what config.json stores under the same keys for most families: dimensions, epsilon, activation, rope
// and its scaling (in both of transformers' spellings), tied embeddings. The rope style is neox, and all
// layers are alike.
base::Result<ModelConfig> read_json_fields(const base::json::object& config);
// Reads attention_bias and mlp_bias, for the families that have them.
base::Status read_json_biases(const base::json::object& config, ModelConfig& model);
// Reads rope_theta and the scaling from one set of rope_parameters.
base::Status read_json_rope(const base::json::object& fields, const ModelConfig& model, RopeConfig& rope);
// Sets the sliding window of the layers that `layer_types` marks. Without that key, the layers are those for
// which slides(config, layer) is true.
base::Status read_json_window(const base::json::object& config, ModelConfig& model,
                              bool (*slides)(const base::json::object& config, int layer));
base::Result<ops::Activation> json_activation(const base::json::object& config, std::string_view key);

// Typed fields. An absent or null field gives the fallback. A value of another kind is an error that names
// the key.
base::Result<int> json_integer(const base::json::object& object, std::string_view key);
base::Result<int> json_integer_or(const base::json::object& object, std::string_view key, int fallback);
base::Result<double> json_number_or(const base::json::object& object, std::string_view key, double fallback);
base::Result<float> json_float_or(const base::json::object& object, std::string_view key, float fallback);
base::Result<bool> json_boolean_or(const base::json::object& object, std::string_view key, bool fallback);
base::Result<std::string> json_string_or(const base::json::object& object, std::string_view key,
                                         std::string_view fallback);
base::Result<std::vector<double>> json_numbers_or_none(const base::json::object& object,
                                                       std::string_view key);
// Returns null if the field is absent.
base::Result<const base::json::object*> json_object_or_none(const base::json::object& object,
                                                            std::string_view key);

}  // namespace kvasir::model

#pragma once

#include <string_view>

#include "base/json.h"
#include "model/model_config.h"

namespace kvasir::model {

// What config.json keeps under the same keys for most families: dimensions, epsilon, activation, rope and
// its scaling (both of transformers' spellings), tied embeddings. The rope style is neox.
base::Result<ModelConfig> read_json_fields(const base::json::object& config);

// Typed fields; absent and null are the fallback, another kind is an error that names the key.
base::Result<int> json_integer(const base::json::object& object, std::string_view key);
base::Result<int> json_integer_or(const base::json::object& object, std::string_view key, int fallback);
base::Result<double> json_number_or(const base::json::object& object, std::string_view key, double fallback);
base::Result<bool> json_boolean_or(const base::json::object& object, std::string_view key, bool fallback);

}  // namespace kvasir::model

#pragma once

#include <string_view>

#include "model/model_config.h"
#include "model/weight_file.h"

namespace kvasir::model {

// What GGUF keeps under the same keys for every family: dimensions, epsilon, rope and its scaling, tied
// embeddings. `prefix` is the family's name in the keys. The rope style is the family's to set.
base::Result<ModelConfig> read_gguf_fields(const WeightFile& file, std::string_view prefix);

}  // namespace kvasir::model

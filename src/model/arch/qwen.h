#pragma once

#include "base/json.h"
#include "model/arch/model_config.h"

namespace kvasir::model {

// Sets the window of Qwen's layers. If `use_sliding_window` is true, layers from `max_window_layers` on have
// one.
base::Status read_qwen_window(const base::json::object& json, ModelConfig& config);

}  // namespace kvasir::model

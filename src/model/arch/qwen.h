#pragma once

#include "base/json.h"
#include "model/arch/model_config.h"

namespace kvasir::model {

// The window of Qwen's layers: used where `use_sliding_window` says so, from layer `max_window_layers` on.
base::Status read_qwen_window(const base::json::object& json, ModelConfig& config);

}  // namespace kvasir::model

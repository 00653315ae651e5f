#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> from_gguf(const WeightFile& file) {
  return read_gguf_fields(file, "qwen2");
}

base::Result<ModelConfig> from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY(const bool sliding, json_boolean_or(json, "use_sliding_window", false));
  if (sliding) return base::error(base::ErrorCode::unsupported, "use_sliding_window");
  config.qkv_bias = true;
  return config;
}

}  // namespace

constexpr Architecture kQwen2 = {"qwen2", kGgufNames, kHuggingFaceNames, from_gguf, from_json};

}  // namespace kvasir::model

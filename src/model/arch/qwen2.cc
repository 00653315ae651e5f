#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"
#include "model/arch/qwen.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> qwen2_from_gguf(const WeightFile& file) {
  return read_gguf_fields(file, "qwen2");
}

base::Result<ModelConfig> qwen2_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_qwen_window(json, config));
  config.qkv_bias = true;
  return config;
}

}  // namespace

base::Status read_qwen_window(const base::json::object& json, ModelConfig& config) {
  TRY(const bool sliding, json_boolean_or(json, "use_sliding_window", false));
  if (!sliding) return base::ok();
  return read_json_window(json, config, [](const base::json::object& fields, int layer) {
    const auto first = json_integer_or(fields, "max_window_layers", 28);
    return first.ok() && layer >= *first;
  });
}

constexpr Architecture kQwen2 = {
    .gguf = {"qwen2", qwen2_from_gguf, kGgufNames},
    .hugging_face = {"qwen2", qwen2_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"
#include "model/arch/qwen.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> qwen3_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "qwen3"));
  config.qk_norm = QkNorm::heads;
  return config;
}

base::Result<ModelConfig> qwen3_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  TRY_OK(read_qwen_window(json, config));
  config.qk_norm = QkNorm::heads;
  return config;
}

}  // namespace

constexpr Architecture kQwen3 = {
    .gguf = {"qwen3", qwen3_from_gguf, kGgufNames},
    .hugging_face = {"qwen3", qwen3_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

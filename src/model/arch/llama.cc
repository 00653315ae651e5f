#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> llama_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "llama"));
  const GgufFields fields(file.metadata(), "llama");
  // GGUF converters reorder this family's Q and K rows, so that the two numbers of a rotated pair are
  // neighbours.
  config.rope.style = ops::RopeStyle::interleaved;
  // Mistral and Mixtral are also named llama in GGUF. Mistral may have a window, and Mixtral has experts.
  TRY_OK(read_gguf_window(fields, config, [](int) { return true; }));
  TRY(const int num_experts, fields.integer_or("expert_count", 0));
  if (num_experts > 0) TRY_OK(read_gguf_mixture(fields, config));
  return config;
}

base::Result<ModelConfig> llama_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  return config;
}

}  // namespace

constexpr Architecture kLlama = {
    .gguf = {"llama", llama_from_gguf, kGgufNames},
    .hugging_face = {"llama", llama_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

#include "model/arch/architecture.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> mistral_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_window(json, config, [](const base::json::object&, int) { return true; }));
  return config;
}

}  // namespace

// Mistral has no entry for GGUF, because its GGUF files say "llama".
constexpr Architecture kMistral = {
    .gguf = {},
    .hugging_face = {"mistral", mistral_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

#include <vector>

#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"
#include "model/arch/qwen.h"

namespace kvasir::model {

namespace {

constexpr int kPattern = 4;

// Every `pattern`-th layer does not see positions.
base::Status skip_rope(int pattern, ModelConfig& config) {
  if (pattern < 1) return base::error(base::ErrorCode::corrupt, "no_rope_layer_interval is {}", pattern);
  for (int i = pattern - 1; i < config.num_layers; i += pattern)
    config.layers[static_cast<std::size_t>(i)].rope = RopeUse::none;
  return base::ok();
}

base::Result<ModelConfig> smollm3_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "smollm3"));
  config.rope.style = ops::RopeStyle::interleaved;  // GGUF reorders the rows as it does llama's
  TRY_OK(skip_rope(kPattern, config));
  return config;
}

base::Result<ModelConfig> smollm3_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_biases(json, config));
  TRY_OK(read_qwen_window(json, config));
  TRY(const std::vector<double> uses, json_numbers_or_none(json, "no_rope_layers"));
  if (uses.empty()) {
    TRY(const int pattern, json_integer_or(json, "no_rope_layer_interval", kPattern));
    TRY_OK(skip_rope(pattern, config));
    return config;
  }
  if (uses.size() != config.layers.size())
    return base::error(base::ErrorCode::corrupt, "no_rope_layers has {} of {} layers", uses.size(),
                       config.layers.size());
  // Despite its name, the list has 1 where a layer uses rope.
  for (std::size_t i = 0; i < uses.size(); ++i)
    config.layers[i].rope = uses[i] != 0 ? RopeUse::global : RopeUse::none;
  return config;
}

}  // namespace

constexpr Architecture kSmolLm3 = {
    .gguf = {"smollm3", smollm3_from_gguf, kGgufNames},
    .hugging_face = {"smollm3", smollm3_from_json, kHuggingFaceNames},
};

}  // namespace kvasir::model

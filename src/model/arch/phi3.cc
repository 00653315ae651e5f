#include "model/arch/architecture.h"
#include "model/arch/gguf_fields.h"
#include "model/arch/json_fields.h"

namespace kvasir::model {

namespace {

base::Result<ModelConfig> phi3_from_gguf(const WeightFile& file) {
  TRY(ModelConfig config, read_gguf_fields(file, "phi3"));
  TRY_OK(read_gguf_window(GgufFields(file.metadata(), "phi3"), config, [](int) { return true; }));
  return config;
}

base::Result<ModelConfig> phi3_from_json(const base::json::object& json) {
  TRY(ModelConfig config, read_json_fields(json));
  TRY_OK(read_json_window(json, config, [](const base::json::object&, int) { return true; }));
  return config;
}

constexpr TensorNames phi3_gguf_names() {
  TensorNames names = kGgufNames;
  names.qkv = "blk.{0}.attn_qkv.weight";
  names.gate_up = "blk.{0}.ffn_up.weight";
  return names;
}

constexpr TensorNames phi3_hugging_face_names() {
  TensorNames names = kHuggingFaceNames;
  names.qkv = "model.layers.{0}.self_attn.qkv_proj.weight";
  names.gate_up = "model.layers.{0}.mlp.gate_up_proj.weight";
  return names;
}

}  // namespace

constexpr Architecture kPhi3 = {
    .gguf = {"phi3", phi3_from_gguf, phi3_gguf_names()},
    .hugging_face = {"phi3", phi3_from_json, phi3_hugging_face_names()},
};

}  // namespace kvasir::model

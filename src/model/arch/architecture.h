#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "model/arch/model_config.h"
#include "model/arch/tensor_names.h"
#include "model/file/weight_file.h"

namespace kvasir::model {

// A family of models, which reads a decoder's config from the family's checkpoints. Stateless. If a format
// has no name of its own for the family (Mistral's GGUF says "llama"), `name` is empty and `read` is null.
struct Architecture {
  struct Gguf {
    std::string_view name;  // general.architecture
    base::Result<ModelConfig> (*read)(const WeightFile& file) = nullptr;
    TensorNames names;
  };
  struct HuggingFace {
    std::string_view name;  // model_type of config.json
    base::Result<ModelConfig> (*read)(const base::json::object& config) = nullptr;
    TensorNames names;
  };
  Gguf gguf;
  HuggingFace hugging_face;
};

std::span<const Architecture* const> architectures();
// Fails with `unsupported` if the family is unknown; the message lists the known ones.
base::Result<const Architecture::Gguf*> find_gguf_architecture(std::string_view name);
base::Result<const Architecture::HuggingFace*> find_hugging_face_architecture(std::string_view name);

extern const Architecture kLlama;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kQwen3Moe;
extern const Architecture kMistral;
extern const Architecture kMixtral;
extern const Architecture kGemma2;
extern const Architecture kGemma3;
extern const Architecture kPhi3;
extern const Architecture kSmolLm3;
extern const Architecture kOlmo2;
extern const Architecture kGranite;
extern const Architecture kGpt2;
extern const Architecture kDeepseek;

}  // namespace kvasir::model

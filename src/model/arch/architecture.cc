#include "model/arch/architecture.h"

#include <string>

namespace kvasir::model {

namespace {

constexpr const Architecture* kArchitectures[] = {
    &kLlama,  &kQwen2, &kQwen3,   &kQwen3Moe, &kMistral, &kMixtral, &kGemma2,
    &kGemma3, &kPhi3,  &kSmolLm3, &kOlmo2,    &kGranite, &kGpt2,    &kDeepseek,
};

template <class Format>
base::Result<const Format*> find(std::string_view name, Format Architecture::* format) {
  std::string known;
  for (const Architecture* architecture : kArchitectures) {
    const Format& found = architecture->*format;
    if (found.name.empty()) continue;
    if (found.name == name) return &found;
    if (!known.empty()) known += ", ";
    known += found.name;
  }
  return base::error(base::ErrorCode::unsupported, "architecture {:?} is not one that Kvasir runs ({})", name,
                     known);
}

}  // namespace

std::span<const Architecture* const> architectures() {
  return kArchitectures;
}

base::Result<const Architecture::Gguf*> find_gguf_architecture(std::string_view name) {
  return find(name, &Architecture::gguf);
}

base::Result<const Architecture::HuggingFace*> find_hugging_face_architecture(std::string_view name) {
  return find(name, &Architecture::hugging_face);
}

}  // namespace kvasir::model

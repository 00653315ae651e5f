#include "model/arch/architecture.h"

#include <string>

namespace kvasir::model {

namespace {

constexpr const Architecture* kArchitectures[] = {
    &kLlama,
    &kQwen2,
};

}  // namespace

std::span<const Architecture* const> architectures() {
  return kArchitectures;
}

base::Result<const Architecture*> find_architecture(std::string_view name) {
  std::string known;
  for (const Architecture* architecture : kArchitectures) {
    if (architecture->name == name) return architecture;
    if (!known.empty()) known += ", ";
    known += architecture->name;
  }
  return base::error(base::ErrorCode::unsupported, "architecture {:?} is not one that Kvasir runs ({})", name,
                     known);
}

}  // namespace kvasir::model

#include "ops/cpu/context.h"

#include <algorithm>

#include "base/check.h"

namespace kvasir::ops {

Context::Context(ComputePool& pool, Isa isa) : pool_(pool), isa_(isa) {
  const auto& isas = supported_isas();
  CHECK(std::find(isas.begin(), isas.end(), isa) != isas.end(), "{} on this machine", name(isa));
}

std::byte* Context::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) {
    scratch_ = tensor::Buffer();  // frees the old memory before the new is allocated
    scratch_ = tensor::Buffer(bytes + bytes / 4);
  }
  return scratch_.data();
}

}  // namespace kvasir::ops

#include "tensor/dtype.h"

#include "base/check.h"

namespace kvasir::tensor {

const DTypeInfo& info(DType type) {
  static constexpr DTypeInfo kInfos[kNumDTypes] = {
      {"F32", 1, 4},        {"F16", 1, 2},      {"BF16", 1, 2},       {"Q8_0", 32, 34},
      {"Q4_0", 32, 18},     {"Q4_1", 32, 20},   {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
      {"Q2_K", 256, 84},    {"Q3_K", 256, 110}, {"Q4_K", 256, 144},   {"Q5_K", 256, 176},
      {"Q6_K", 256, 210},   {"IQ4_NL", 32, 18}, {"IQ4_XS", 256, 136}, {"IQ2_XXS", 256, 66},
      {"IQ3_XXS", 256, 98},
  };
  return kInfos[static_cast<int>(type)];
}

std::int64_t bytes_of(DType type, std::int64_t elems) {
  const DTypeInfo& i = info(type);
  CHECK(elems % i.block_elems == 0, "{} elements of {}", elems, i.name);
  return elems / i.block_elems * i.block_bytes;
}

}  // namespace kvasir::tensor

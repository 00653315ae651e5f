#include "ops/rms_norm.h"

#include "base/check.h"
#include "ops/cpu/cpu_kernels.h"
#include "ops/cpu/split.h"

namespace kvasir::ops {

void rms_norm(Context& context, std::span<const float> x, std::span<const float> weight, float eps,
              std::span<float> y) {
  const auto dim = static_cast<std::int64_t>(weight.size());
  CHECK(dim > 0 && x.size() % weight.size() == 0 && y.size() == x.size(), "rows of {} in {} and {}", dim,
        x.size(), y.size());
  const auto num_rows = static_cast<std::int64_t>(x.size()) / dim;
  const CpuKernels& kernels = cpu_kernels(context.isa());
  for_ranges(context, num_rows, (32 << 10) / dim, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      kernels.rms_norm(x.data() + r * dim, weight.data(), dim, eps, y.data() + r * dim);
    }
  });
}

}  // namespace kvasir::ops

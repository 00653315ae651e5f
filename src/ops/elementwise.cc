#include "ops/elementwise.h"

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/split.h"

namespace kvasir::ops {

void silu_mul(Context& context, std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  CHECK(gate.size() == up.size() && gate.size() == y.size(), "{}, {} and {}", gate.size(), up.size(),
        y.size());
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const auto silu_mul_range = [&](std::int64_t begin, std::int64_t end) {
    kernels.silu_mul(gate.data() + begin, up.data() + begin, end - begin, y.data() + begin);
  };
  for_ranges(context, static_cast<std::int64_t>(y.size()), 16 << 10, silu_mul_range);
}

void add(Context& context, std::span<const float> x, std::span<float> y) {
  CHECK(x.size() == y.size(), "{} and {}", x.size(), y.size());
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const auto add_range = [&](std::int64_t begin, std::int64_t end) {
    kernels.add(x.data() + begin, end - begin, y.data() + begin);
  };
  for_ranges(context, static_cast<std::int64_t>(y.size()), 64 << 10, add_range);
}

}  // namespace kvasir::ops

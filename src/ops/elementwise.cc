#include "ops/elementwise.h"

#include "base/check.h"
#include "ops/cpu/cpu_kernels.h"
#include "ops/cpu/split.h"

namespace kvasir::ops {

void activate(Context& context, Activation activation, std::span<const float> gate, std::span<const float> up,
              std::span<float> y) {
  CHECK((up.empty() || gate.size() == up.size()) && gate.size() == y.size(), "{}, {} and {}", gate.size(),
        up.size(), y.size());
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const auto activate_range = [&](std::int64_t begin, std::int64_t end) {
    kernels.activate({.activation = activation,
                      .gate = gate.data() + begin,
                      .up = up.empty() ? nullptr : up.data() + begin,
                      .size = end - begin,
                      .y = y.data() + begin});
  };
  for_ranges(context, static_cast<std::int64_t>(y.size()), 16 << 10, activate_range);
}

void add(Context& context, std::span<const float> x, std::span<float> y) {
  CHECK(x.size() == y.size(), "{} and {}", x.size(), y.size());
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const auto add_range = [&](std::int64_t begin, std::int64_t end) {
    kernels.add(x.data() + begin, end - begin, y.data() + begin);
  };
  for_ranges(context, static_cast<std::int64_t>(y.size()), 64 << 10, add_range);
}

void scale(Context& context, float factor, std::span<float> x) {
  for_ranges(context, static_cast<std::int64_t>(x.size()), 64 << 10,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] *= factor;
             });
}

void soft_cap(Context& context, float cap, std::span<float> x) {
  CHECK(cap > 0, "a cap of {}", cap);
  const CpuKernels& kernels = cpu_kernels(context.isa());
  for_ranges(
      context, static_cast<std::int64_t>(x.size()), 16 << 10,
      [&](std::int64_t begin, std::int64_t end) { kernels.soft_cap(cap, end - begin, x.data() + begin); });
}

}  // namespace kvasir::ops

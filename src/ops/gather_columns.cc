#include "ops/gather_columns.h"

#include "base/check.h"

namespace kvasir::ops {

void gather_columns(Context& context, std::span<const float> x, std::span<const std::int32_t> order,
                    std::span<float> y) {
  const std::size_t cols = order.size();
  CHECK(cols > 0 && x.size() % cols == 0 && x.size() == y.size(), "{} numbers in rows of {} into {}",
        x.size(), cols, y.size());
  context.pool().run(static_cast<int>(x.size() / cols), [&](int row, int /*thread*/) {
    const float* from = x.data() + static_cast<std::size_t>(row) * cols;
    float* to = y.data() + static_cast<std::size_t>(row) * cols;
    for (std::size_t c = 0; c < cols; ++c) to[c] = from[order[c]];
  });
}

}  // namespace kvasir::ops

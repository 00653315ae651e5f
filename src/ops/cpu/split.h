#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/cpu/context.h"

namespace kvasir::ops {

// Calls f(begin, end) for ranges of at least `grain` that cover [0, n), on the pool if there is more than one
// range. The ranges depend on the pool, so f's result for an element must not depend on its range.
template <class F>
void for_ranges(Context& context, std::int64_t n, std::int64_t grain, const F& f) {
  const std::int64_t most = static_cast<std::int64_t>(context.pool().num_threads()) * 4;
  const std::int64_t num_pieces = std::clamp<std::int64_t>(n / std::max<std::int64_t>(grain, 1), 1, most);
  const std::int64_t size = (n + num_pieces - 1) / num_pieces;
  context.pool().run(static_cast<int>(num_pieces), [&](int piece, int /*thread*/) {
    const std::int64_t begin = piece * size;
    const std::int64_t end = std::min(n, begin + size);
    if (begin < end) f(begin, end);
  });
}

}  // namespace kvasir::ops

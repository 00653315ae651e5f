#include "ops/layer_norm.h"

#include <array>
#include <cmath>

#include "base/check.h"
#include "ops/cpu/split.h"

namespace kvasir::ops {
namespace {

// Adds into 16 separate sums, so that any compiler can use vectors without changing the order of additions.
template <class Term>
float sum_terms(std::int64_t dim, const Term& term) {
  std::array<float, 16> lanes{};
  std::int64_t i = 0;
  for (; i + 16 <= dim; i += 16) {
    for (std::int64_t j = 0; j < 16; ++j) lanes[static_cast<std::size_t>(j)] += term(i + j);
  }
  for (; i < dim; ++i) lanes[static_cast<std::size_t>(i % 16)] += term(i);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

void norm_row(const float* x, const LayerNormArgs& args, std::int64_t dim, float* y) {
  const auto count = static_cast<float>(dim);
  const float mean = sum_terms(dim, [&](std::int64_t i) { return x[i]; }) / count;
  const float squares = sum_terms(dim, [&](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  const float factor = 1 / std::sqrt(squares / count + args.eps);
  const float* weight = args.weight.data();
  const float* bias = args.bias.data();
  for (std::int64_t i = 0; i < dim; ++i) y[i] = (x[i] - mean) * factor * weight[i] + bias[i];
}

}  // namespace

void layer_norm(Context& context, std::span<const float> x, const LayerNormArgs& args, std::span<float> y) {
  const auto dim = static_cast<std::int64_t>(args.weight.size());
  CHECK(dim > 0 && args.bias.size() == args.weight.size() && x.size() % args.weight.size() == 0 &&
            y.size() == x.size(),
        "rows of {} and {} in {} and {}", dim, args.bias.size(), x.size(), y.size());
  const auto num_rows = static_cast<std::int64_t>(x.size()) / dim;
  for_ranges(context, num_rows, (32 << 10) / dim, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) norm_row(x.data() + r * dim, args, dim, y.data() + r * dim);
  });
}

}  // namespace kvasir::ops

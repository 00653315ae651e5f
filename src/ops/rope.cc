#include "ops/rope.h"

#include <cmath>
#include <utility>

#include "base/check.h"
#include "ops/cpu/split.h"

namespace kvasir::ops {
namespace {

// The distance between the two numbers of a pair, and from one pair to the next.
struct Stride {
  int within;
  int between;
};

void rotate_head(const float* cosines, const float* sines, int num_pairs, Stride stride, float* x) {
  for (int i = 0; i < num_pairs; ++i) {
    float& a = x[i * stride.between];
    float& b = x[i * stride.between + stride.within];
    const float turned = a * cosines[i] - b * sines[i];
    b = b * cosines[i] + a * sines[i];
    a = turned;
  }
}

}  // namespace

RopeTable::RopeTable(RopeStyle style, std::vector<float> inverse_frequencies, float attention_factor)
    : style_(style),
      inverse_frequencies_(std::move(inverse_frequencies)),
      attention_factor_(attention_factor) {}

void RopeTable::set_positions(Context& context, std::span<const std::int32_t> positions) {
  num_rows_ = static_cast<int>(positions.size());
  const std::size_t num_pairs = inverse_frequencies_.size();
  turns_.resize(positions.size() * 2 * num_pairs);
  for_ranges(context, num_rows_, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto row = static_cast<std::size_t>(r);
      float* turns = turns_.data() + row * 2 * num_pairs;
      for (std::size_t i = 0; i < num_pairs; ++i) {
        const float angle = static_cast<float>(positions[row]) * inverse_frequencies_[i];
        turns[i] = std::cos(angle) * attention_factor_;
        turns[num_pairs + i] = std::sin(angle) * attention_factor_;
      }
    }
  });
}

void rope(Context& context, const RopeTable& table, int num_heads, int head_dim, std::span<float> x) {
  const std::int64_t row_size = static_cast<std::int64_t>(num_heads) * head_dim;
  CHECK(table.rotary_dim() <= head_dim, "{} of {} dimensions", table.rotary_dim(), head_dim);
  CHECK(static_cast<std::int64_t>(x.size()) == table.num_rows() * row_size, "{} rows of {} in {}",
        table.num_rows(), row_size, x.size());
  const int num_pairs = table.rotary_dim() / 2;
  const Stride stride = table.style() == RopeStyle::neox ? Stride{num_pairs, 1} : Stride{1, 2};
  for_ranges(context, table.num_rows(), (16 << 10) / row_size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const auto row = static_cast<int>(r);
      float* heads = x.data() + r * row_size;
      for (int h = 0; h < num_heads; ++h) {
        rotate_head(table.cosines(row), table.sines(row), num_pairs, stride, heads + h * head_dim);
      }
    }
  });
}

}  // namespace kvasir::ops

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/cpu/context.h"
#include "ops/types/rope_style.h"

namespace kvasir::ops {

// Cosines and sines of the positions of one step, computed once and used by every layer. Owned and used by
// one engine thread.
class RopeTable {
 public:
  // Pair i of a head is rotated by the angle position * inverse_frequencies[i]. So the first 2 *
  // inverse_frequencies.size() numbers of a head are rotated and the others stay as they are. Cosines and
  // sines are multiplied by `attention_factor`.
  RopeTable(RopeStyle style, std::vector<float> inverse_frequencies, float attention_factor = 1);

  // Sets the position of each row of the step.
  void set_positions(Context& context, std::span<const std::int32_t> positions);

  RopeStyle style() const { return style_; }
  int rotary_dim() const { return 2 * static_cast<int>(inverse_frequencies_.size()); }
  int num_rows() const { return num_rows_; }
  const float* cosines(int row) const { return turns_.data() + static_cast<std::size_t>(row) * rotary_dim(); }
  const float* sines(int row) const { return cosines(row) + inverse_frequencies_.size(); }

 private:
  RopeStyle style_;
  std::vector<float> inverse_frequencies_;
  float attention_factor_;
  int num_rows_ = 0;
  std::vector<float> turns_;  // [rows, 2, rotary_dim / 2]: cosines, then sines
};

// Rotates x in place by the positions that the table holds.
void rope(Context& context, const RopeTable& table, int num_heads, int head_dim,
          std::span<float> x);  // [table.num_rows, num_heads, head_dim]

}  // namespace kvasir::ops

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/device_decoder.h"
#include "ops/draw/row_draw.h"

namespace kvasir::model {

// A step's draws and their lists in the form that a device reads. Masks are not copied.
struct PackedDraws {
  std::vector<ops::RowDraw> draws;
  std::vector<std::int32_t> counted;
  std::vector<ops::TokenBias> biases;
  std::vector<std::span<const std::uint32_t>> masks;  // a draw's `mask` is an index into this
  int mask_words = 0;

  // The histories that draws name must be below `num_histories`.
  void pack(std::span<const RowDraw> from, int vocab_size, int num_histories);
  // Copies a mask to `to`. Bits that the mask lacks become 0.
  void write_mask(std::size_t mask, std::span<std::uint32_t> to) const;  // [mask_words]
};

}  // namespace kvasir::model

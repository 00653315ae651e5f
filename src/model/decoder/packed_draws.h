#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/device_decoder.h"
#include "ops/draw/row_draw.h"

namespace kvasir::model {

// A step's draws and their lists as a device reads them. Masks stay where they are.
struct PackedDraws {
  std::vector<ops::RowDraw> draws;
  std::vector<std::int32_t> counted;
  std::vector<ops::TokenBias> biases;
  std::vector<std::span<const std::uint32_t>> masks;  // `mask` of a draw is an index of this
  int mask_words = 0;

  // `num_histories` are there.
  void pack(std::span<const RowDraw> from, int vocab_size, int num_histories);
  // Copies a mask; bits that it lacks are 0.
  void write_mask(std::size_t mask, std::span<std::uint32_t> to) const;  // [mask_words]
};

}  // namespace kvasir::model

#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"

namespace kvasir::ops::cuda {

// How a row's token is drawn: as sample::Sampler draws it on the CPU, from the same weights in the same
// order.
struct RowDraw {
  float temperature = 0;  // 0: the largest
  float top_p = 1;
  float min_p = 0;
  std::int32_t top_k = 0;  // 0: all
  double u = 0;            // uniform in [0, 1)
};

struct RowDrawn {
  std::int32_t token =
      0;  // the first of the largest, or what was drawn; -1: too many tokens are left to sort here
  float largest = 0;  // +inf with a NaN or +inf in the row
};

void draw_rows(StreamHandle stream, int rows, int cols,
               const float* logits,   // [rows, cols], at a multiple of 16 bytes
               const RowDraw* draws,  // [rows]
               RowDrawn* drawn);      // [rows]

}  // namespace kvasir::ops::cuda

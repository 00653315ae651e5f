#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"

namespace kvasir::ops::cuda {

// How a row's token is drawn: as sample::Sampler does on the CPU, from the same weights in the same order.
struct RowDraw {
  float temperature = 0;  // 0: the largest
  float top_p = 1;
  float min_p = 0;
  std::int32_t top_k = 0;  // 0: all
  double u = 0;            // uniform in [0, 1)
};

struct RowDrawn {
  // The first of the largest, or the drawn one; -1: too many tokens are left to sort here.
  std::int32_t token = 0;
  float largest = 0;  // +inf if the row has a NaN or +inf
};

void draw_rows(StreamHandle stream, int rows, int cols,
               const float* logits,   // [rows, cols], at a multiple of 16 bytes
               const RowDraw* draws,  // [rows]
               RowDrawn* drawn);      // [rows]

}  // namespace kvasir::ops::cuda

#pragma once

#include "ops/cuda/stream.h"
#include "ops/draw/row_draw.h"

namespace kvasir::ops::cuda {

// Draws a token for each row, as ops/draw/draw_row.h says.
void draw_rows(StreamHandle stream, int rows, const DrawArgs& args);

}  // namespace kvasir::ops::cuda

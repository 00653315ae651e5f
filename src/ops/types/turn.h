#pragma once

#include <cstddef>

namespace kvasir::ops {

struct MatrixShape {
  int num_rows = 0;
  int num_columns = 0;
};

// Writes the matrix with rows and columns exchanged. `to` must not overlap `from`.
template <class T>
void turn(const T* from, MatrixShape shape, T* to) {
  const auto rows = static_cast<std::size_t>(shape.num_rows);
  const auto columns = static_cast<std::size_t>(shape.num_columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

}  // namespace kvasir::ops

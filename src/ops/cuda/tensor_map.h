#pragma once

#include <cuda.h>

#include <cstdint>

namespace kvasir::ops::cuda {

// A matrix whose tiles the copy engine fetches. A tile is `box_rows` rows by 128 bytes, with chunks swizzled
// as warpgroup.cuh needs them, and zeros outside the matrix. `matrix` and the bytes of a row must be
// multiples of 16.
struct TiledMatrix {
  const void* matrix = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  int number_bytes = 2;
  int box_rows = 0;
};

// Returns false if the driver refuses the matrix, which counts as a failure of the GPU.
bool describe_matrix(const TiledMatrix& matrix, CUtensorMap& map);

}  // namespace kvasir::ops::cuda

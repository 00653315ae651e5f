#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.h"

namespace kvasir::tensor {

// The sizes of a tensor's dimensions, outermost first. A weight that maps `in` to `out` features is [out,
// in], with contiguous rows.
using Shape = std::vector<std::int64_t>;

inline std::int64_t num_elems(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

// A shaped view of memory that somebody else owns (a mapped file, an arena). Dense, row-major.
struct TensorView {
  const std::byte* data = nullptr;
  DType type = DType::f32;
  Shape shape;

  std::int64_t rows() const { return shape.size() < 2 ? 1 : num_elems(shape) / shape.back(); }
  std::int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  std::int64_t bytes() const { return bytes_of(type, num_elems(shape)); }
};

}  // namespace kvasir::tensor

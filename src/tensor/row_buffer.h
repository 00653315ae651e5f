#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::tensor {

// A reusable buffer for rows of floats. It grows to the largest size taken and never shrinks, so a steady
// state allocates nothing.
class RowBuffer {
 public:
  // The memory holds whatever was written before, and is valid until the next call.
  std::span<float> take(std::size_t rows, int cols) {
    const std::size_t size = rows * static_cast<std::size_t>(cols);
    if (floats_.size() < size) floats_.resize(size);
    return {floats_.data(), size};
  }

 private:
  std::vector<float> floats_;
};

}  // namespace kvasir::tensor

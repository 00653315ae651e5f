#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::tensor {

// Rows of floats. Grows to the most that was taken and stays, so that a steady state allocates nothing.
class RowBuffer {
 public:
  // Holds whatever was there; valid until the next call.
  std::span<float> take(std::size_t rows, int cols) {
    const std::size_t size = rows * static_cast<std::size_t>(cols);
    if (floats_.size() < size) floats_.resize(size);
    return {floats_.data(), size};
  }

 private:
  std::vector<float> floats_;
};

}  // namespace kvasir::tensor

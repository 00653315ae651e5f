#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace kvasir::model {

// Floats of a step. Grows to the largest step and stays.
class StepBuffer {
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

}  // namespace kvasir::model

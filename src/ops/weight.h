#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "ops/compute_pool.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

enum class Precision : std::uint8_t {
  // Activations are quantised to 8 bits in groups of 32 where the weight is quantised.
  fast,
  // Float activations on the dequantised weight: the reference that `fast` is judged by.
  exact,
};

// A matrix [rows = out features, cols = in features] in the form that matmul reads. Where the fast kernels
// know its type it is a repacked copy of the same size, and the view's memory is no longer needed; else it
// borrows, and the view's memory has to outlive it (`borrows` tells). Immutable, so any thread may read it.
class Weight {
 public:
  // One or two dimensions; a vector is one row. Spreads the repacking over `pool` where there is one.
  static base::Result<Weight> prepare(const tensor::TensorView& view, Precision precision = Precision::fast,
                                      ComputePool* pool = nullptr);

  Weight() = default;
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  tensor::DType type() const { return type_; }
  bool borrows() const { return data_ != nullptr; }

  const std::byte* row(std::int64_t r) const;  // of a weight that borrows
  const std::byte* tiles() const { return tiles_.data(); }

 private:
  tensor::DType type_ = tensor::DType::f32;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  const std::byte* data_ = nullptr;
  tensor::Buffer tiles_;
};

}  // namespace kvasir::ops

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "ops/cpu/compute_pool.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace kvasir::ops {

// How activations are rounded before they are multiplied by a quantised weight.
enum class Activations : std::uint8_t {
  bytes,  // 8 bits, a scale for each 32 columns
  fine,   // 12 bits, a scale for each 256 columns
  exact,  // not rounded: floats are multiplied by the dequantised weight
};

enum class Precision : std::uint8_t {
  fast,  // Activations::bytes
  fine,
  exact,  // the reference that the others are judged by
};

// A matrix [rows = out features, cols = in features] in the form that matmul reads. If the fast kernels
// support its type, the Weight is a repacked copy, for most types of about the same size, and the view's
// memory is no longer needed. Otherwise it borrows the view's memory (see borrows()), which must outlive it.
// Immutable, so any thread may read it.
class Weight {
 public:
  // The view has one or two dimensions; a vector becomes one row. Repacks on the threads of `pool`, unless it
  // is null.
  static base::Result<Weight> prepare(const tensor::TensorView& view, Precision precision = Precision::fast,
                                      ComputePool* pool = nullptr);

  Weight() = default;
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  tensor::DType type() const { return type_; }  // as stored here, which may differ from the view's type
  bool borrows() const { return data_ != nullptr; }
  Activations activations() const { return activations_; }

  const std::byte* row(std::int64_t r) const;  // call only if borrows()
  const std::byte* tiles() const { return tiles_.data(); }

 private:
  tensor::DType type_ = tensor::DType::f32;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  Activations activations_ = Activations::exact;
  const std::byte* data_ = nullptr;
  tensor::Buffer tiles_;
};

}  // namespace kvasir::ops

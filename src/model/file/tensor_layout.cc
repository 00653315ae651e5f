#include "model/file/tensor_layout.h"

namespace kvasir::model {

using base::ErrorCode;

base::Result<std::int64_t> checked_bytes(std::string_view name, tensor::DType type,
                                         const tensor::Shape& shape) {
  const tensor::DTypeInfo& info = tensor::info(type);
  std::int64_t elems = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 1) return base::error(ErrorCode::corrupt, "tensor {:?}: dimension {}", name, dim);
    if (__builtin_mul_overflow(elems, dim, &elems))
      return base::error(ErrorCode::corrupt, "tensor {:?}: the shape is too large", name);
  }
  const std::int64_t cols = shape.empty() ? 1 : shape.back();
  if (cols % info.block_elems != 0)
    return base::error(ErrorCode::corrupt, "tensor {:?}: rows of {} are not whole {} blocks", name, cols,
                       info.name);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elems / info.block_elems, info.block_bytes, &bytes))
    return base::error(ErrorCode::corrupt, "tensor {:?}: the shape is too large", name);
  return bytes;
}

}  // namespace kvasir::model

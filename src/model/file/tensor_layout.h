#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// Bytes that a tensor read from a file must have. An error where a dimension is below 1, the product
// overflows, or a row is not whole blocks; `name` says whose shape it is.
base::Result<std::int64_t> checked_bytes(std::string_view name, tensor::DType type,
                                         const tensor::Shape& shape);

}  // namespace kvasir::model

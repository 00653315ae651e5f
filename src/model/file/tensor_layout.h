#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// Returns the size of a tensor of this type and shape. Fails if a dimension is below 1, the product
// overflows, or a row does not consist of whole blocks. `name` is for the error message.
base::Result<std::int64_t> checked_bytes(std::string_view name, tensor::DType type,
                                         const tensor::Shape& shape);

}  // namespace kvasir::model

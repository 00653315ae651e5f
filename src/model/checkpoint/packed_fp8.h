#pragma once

#include "model/checkpoint/packed_matrix.h"

namespace kvasir::model {

// Of "x.weight" in F8_E4M3: x.weight_scale_inv (a scale for each square of the matrix) or x.weight_scale
// (one, or one for each row).
base::Result<std::optional<UnpackedMatrix>> unpack_fp8(const WeightFile& file, const std::string& name,
                                                       const tensor::Shape& shape, tensor::DType floats);

}  // namespace kvasir::model

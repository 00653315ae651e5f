#pragma once

#include "model/checkpoint/packed_matrix.h"

namespace kvasir::model {

// Unpacks "x.weight" from F8_E4M3, with scales from x.weight_scale_inv (one for each square of the matrix) or
// x.weight_scale (one for the matrix, or one for each row).
base::Result<std::optional<UnpackedMatrix>> unpack_fp8(const WeightFile& file, const std::string& name,
                                                       const tensor::Shape& shape, tensor::DType floats);

}  // namespace kvasir::model

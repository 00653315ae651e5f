#pragma once

#include "model/checkpoint/packed_matrix.h"

namespace kvasir::model {

// Unpacks "x.weight" from x.qweight, x.qzeros and x.scales, and from x.g_idx if it exists.
base::Result<std::optional<UnpackedMatrix>> unpack_int4(const WeightFile& file, const PackingConfig& packing,
                                                        const std::string& name, const tensor::Shape& shape);

}  // namespace kvasir::model

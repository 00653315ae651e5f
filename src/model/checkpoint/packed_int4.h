#pragma once

#include "model/checkpoint/packed_matrix.h"

namespace kvasir::model {

// Of "x.weight": x.qweight, x.qzeros, x.scales, and x.g_idx where there is one.
base::Result<std::optional<UnpackedMatrix>> unpack_int4(const WeightFile& file, const PackingConfig& packing,
                                                        const std::string& name, const tensor::Shape& shape);

}  // namespace kvasir::model

#pragma once

#include "model/checkpoint/packed_matrix.h"

namespace kvasir::model {

// Unpacks "x.weight" from x.qweight, x.qzeros, x.scales and, if there is one, x.g_idx.
base::Result<std::optional<UnpackedMatrix>> unpack_int4(const WeightFile& file, const PackingConfig& packing,
                                                        const std::string& name, const tensor::Shape& shape);

}  // namespace kvasir::model

#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "bench/random.h"
#include "tensor/dtype.h"

namespace kvasir::bench {

// Fills whole blocks of `type` with random numbers with a deviation of about 0.02, as in a trained matrix, so
// that an engine's results stay finite.
void fill_random(tensor::DType type, Random& random, std::span<std::byte> bytes);

// Fails if this type cannot be filled.
base::Status check_random_type(tensor::DType type);

}  // namespace kvasir::bench

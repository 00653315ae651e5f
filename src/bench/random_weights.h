#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "bench/random.h"
#include "tensor/dtype.h"

namespace kvasir::bench {

// Fills whole blocks of `type` with random numbers whose deviation is about 0.02, as a trained matrix has
// them: what an engine computes on them stays finite.
void fill_random(tensor::DType type, Random& random, std::span<std::byte> bytes);

// Whether it can make that type.
base::Status check_random_type(tensor::DType type);

}  // namespace kvasir::bench

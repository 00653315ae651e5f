#pragma once

#include "ops/cpu/compute_pool.h"

namespace kvasir::ops {

// How fast all threads of the pool together read memory, in bytes a second: the best of a few passes over 64
// MiB. Takes some tens of milliseconds, in which the pool does nothing else. A machine whose caches hold that
// much shows their speed instead.
double measure_memory_speed(ComputePool& pool);

}  // namespace kvasir::ops

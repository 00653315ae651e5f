#pragma once

#include "ops/cpu/compute_pool.h"

namespace kvasir::ops {

// Measures how fast all threads of the pool together read memory, in bytes a second: the best of a few passes
// over 64 MiB. Takes some tens of milliseconds, in which the pool does nothing else. If the machine's caches
// hold 64 MiB, the result is their speed instead.
double measure_memory_speed(ComputePool& pool);

}  // namespace kvasir::ops

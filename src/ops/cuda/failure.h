#pragma once

#include <string>

#include "base/result.h"

namespace kvasir::ops::cuda {

// What the GPU has failed with since the program began. After most failures CUDA does nothing more in this
// process, so calls that fail are remembered here and their callers go on; who waits for results asks before
// it uses them. Thread-safe.
base::Status gpu_status();
bool has_failed();
// The first one is kept.
void remember_failure(std::string what);

}  // namespace kvasir::ops::cuda

#pragma once

#include <string>

#include "base/result.h"

namespace kvasir::ops::cuda {

// The first failure of the GPU since the program began, if any. After most failures CUDA does nothing more in
// this process, so failed calls are remembered here and their callers continue. Code that waits for results
// must check this before it uses them. Thread-safe.
base::Status gpu_status();
bool has_failed();
// Only the first failure is kept.
void remember_failure(std::string what);

}  // namespace kvasir::ops::cuda

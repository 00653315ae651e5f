#pragma once

#include <string>

#include "base/result.h"

namespace kvasir::ops::cuda {

// The GPU's failure since the program began, if any. After most failures CUDA does nothing more in this
// process, so failed calls are remembered here and their callers go on. Whoever waits for results checks this
// before using them. Thread-safe.
base::Status gpu_status();
bool has_failed();
// Only the first failure is kept.
void remember_failure(std::string what);

}  // namespace kvasir::ops::cuda

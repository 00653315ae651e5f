#pragma once

#include <filesystem>

#include "base/tests_dir_test.h"

namespace kvasir::model {

// The folder of tiny checkpoints, with the results of the reference implementation.
inline const std::filesystem::path kModels = std::filesystem::path(base::kTestsDir) / "golden" / "models";

}  // namespace kvasir::model

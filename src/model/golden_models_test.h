#pragma once

#include <filesystem>

#include "base/tests_dir_test.h"

namespace kvasir::model {

// Tiny checkpoints with what the reference implementation computes from them.
inline const std::filesystem::path kModels = std::filesystem::path(base::kTestsDir) / "golden" / "models";

}  // namespace kvasir::model

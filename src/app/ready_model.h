#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace kvasir::app {

// Finds a model: `name` is a path, or the name of a model whose download is complete.
base::Result<std::filesystem::path> find_ready_model(const std::string& name,
                                                     const config::Settings& settings);

}  // namespace kvasir::app

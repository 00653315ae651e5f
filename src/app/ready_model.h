#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace kvasir::app {

// The path of a model: the user's own path, or a name whose download is complete.
base::Result<std::filesystem::path> find_ready_model(const std::string& name,
                                                     const config::Settings& settings);

}  // namespace kvasir::app

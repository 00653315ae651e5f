#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace kvasir::app {

// Where the model lies that `name` is: a path of the user's own, or a name whose download is complete.
base::Result<std::filesystem::path> find_ready_model(const std::string& name,
                                                     const config::Settings& settings);

}  // namespace kvasir::app

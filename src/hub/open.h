#pragma once

#include <stop_token>

#include "base/result.h"
#include "config/settings.h"
#include "hub/library.h"
#include "hub/pull.h"

namespace kvasir::hub {

// Opens the library that the settings describe: the built-in catalogue, the user's own models.toml and the
// model folder.
base::Result<Library> open_library(const config::Settings& settings);

// Returns the options for pulls into that library. The token comes from the environment variable HF_TOKEN.
PullOptions pull_options(const config::Settings& settings, std::stop_token stop);

}  // namespace kvasir::hub

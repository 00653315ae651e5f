#pragma once

#include <stop_token>

#include "base/result.h"
#include "config/settings.h"
#include "hub/library.h"
#include "hub/pull.h"

namespace kvasir::hub {

// The library that the settings describe: the built-in catalogue, the user's own models.toml and the model
// folder.
base::Result<Library> open_library(const config::Settings& settings);

// The options for pulls into that library. HF_TOKEN comes from the environment.
PullOptions pull_options(const config::Settings& settings, std::stop_token stop);

}  // namespace kvasir::hub

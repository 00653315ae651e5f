#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "hub/library.h"
#include "hub/pull.h"

namespace kvasir::app {

// Where models lie and where they come from, for the commands that have no other settings.
struct ModelFlags {
  std::string model_dir;
  std::string hf_endpoint;
  bool offline = false;
};

void add_model_flags(CLI::App& command, ModelFlags& flags);

base::Result<hub::Library> open_library(const ModelFlags& flags);
hub::PullOptions pull_options(const ModelFlags& flags, std::stop_token stop);

}  // namespace kvasir::app

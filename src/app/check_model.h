#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check model DIR…`
void add_check_model(CLI::App& check, Outcome& outcome);

}  // namespace kvasir::app

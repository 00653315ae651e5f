#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check drift NAME|PATH TEXT...`
void add_check_drift(CLI::App& check_command, Outcome& outcome);

}  // namespace kvasir::app

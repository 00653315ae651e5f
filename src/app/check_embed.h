#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check embed NAME|PATH GOLDEN`
void add_check_embed(CLI::App& check, Outcome& outcome);

}  // namespace kvasir::app

#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check templates GOLDEN`
void add_check_templates(CLI::App& check, Outcome& outcome);

}  // namespace kvasir::app

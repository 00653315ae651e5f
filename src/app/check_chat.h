#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir check chat NAME|PATH GOLDEN`
void add_check_chat(CLI::App& check, Outcome& outcome);

}  // namespace kvasir::app

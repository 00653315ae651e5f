#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir bench sim --device cpu|gpu`
void add_bench_sim(CLI::App& bench, Outcome& outcome);

}  // namespace kvasir::app

#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

// `kvasir bench engine --model NAME|PATH` or `--random SHAPE`
void add_bench_engine(CLI::App& bench, Outcome& outcome);

}  // namespace kvasir::app

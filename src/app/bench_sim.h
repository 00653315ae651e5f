#pragma once

#include <CLI/CLI.hpp>

#include "app/command.h"

namespace kvasir::app {

void add_bench_sim(CLI::App& bench, Outcome& outcome);

}  // namespace kvasir::app

#include <fmt/format.h>

#include <cstdio>

#include "app/command.h"

namespace kvasir::app {

void add_version(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->callback([] { fmt::print("kvasir {}\n", KVASIR_VERSION); });
}

}  // namespace kvasir::app

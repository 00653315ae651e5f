#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "app/command.h"

namespace kvasir::app {

void add_version(CLI::App& app, Outcome&) {
  static constexpr const char* kVersion = "kvasir " KVASIR_VERSION;
  app.set_version_flag("--version", std::string(kVersion), "Print the version and exit");
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->callback([] { fmt::print("{}\n", kVersion); });
}

}  // namespace kvasir::app

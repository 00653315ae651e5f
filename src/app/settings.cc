#include "config/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/command.h"
#include "config/load.h"

namespace kvasir::app {

namespace {

struct SettingsFlags {
  config::FlagValues values;
  bool markdown = false;
};

}  // namespace

void add_settings(CLI::App& app, Outcome& outcome) {
  CLI::App* command =
      app.add_subcommand("settings", "Print the settings in effect, as a file that --config takes");
  command->footer(
      "A flag wins over the environment (KVASIR_PORT), the environment over the file, the file over the\n"
      "default.\n"
      "\n"
      "Examples:\n"
      "  kvasir settings > kvasir.toml\n"
      "  kvasir settings --config kvasir.toml --port 9000\n"
      "  kvasir settings --markdown        the page that explains each");
  auto flags = std::make_shared<SettingsFlags>();
  command->add_flag("--markdown", flags->markdown, "Print what each setting means, as Markdown");
  config::add_flags(*command, flags->values);
  command->callback([flags, &outcome] {
    if (flags->markdown) return fmt::print("{}", config::settings_markdown());
    const auto settings = config::load(flags->values);
    if (!settings.ok()) return report_usage(outcome, settings.error());
    fmt::print("{}", config::settings_toml(*settings));
  });
}

}  // namespace kvasir::app

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "app/command.h"
#include "app/help_formatter.h"

namespace kvasir::app {
namespace {

constexpr const char* kDescription =
    "Serves large language models on this machine behind an OpenAI-compatible API.";

constexpr const char* kFooter =
    "Examples:\n"
    "  kvasir serve                    serve the default models on http://127.0.0.1:8080\n"
    "  kvasir pull smollm2             fetch a model into the cache\n"
    "  kvasir chat --model smollm2     talk to the running server\n"
    "\n"
    "Exit status: 0 success, 1 failure, 2 wrong usage.\n"
    "'kvasir COMMAND --help' explains a command.";

void add_commands(CLI::App& app, Outcome& outcome) {
  add_serve(app, outcome);
  add_chat(app, outcome);
  add_pull(app, outcome);
  add_models(app, outcome);
  add_settings(app, outcome);
  add_check(app, outcome);
  add_bench(app, outcome);
  add_quantize(app, outcome);
  add_version(app, outcome);
}

// The command that was named, for the hint after a usage error.
std::string command_path(const CLI::App& app) {
  std::string path = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) path += " " + command_path(*sub);
  return path;
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error, const char* first_argument) {
  if (app.get_subcommands().empty() && first_argument[0] != '-')
    fmt::print(stderr, "kvasir: there is no command '{}'\n", first_argument);
  else
    fmt::print(stderr, "kvasir: {}\n", error.what());
  fmt::print(stderr, "Try '{} --help'.\n", command_path(app));
  return kUsage;
}

int run(int argc, char** argv) {
  CLI::App app{kDescription, "kvasir"};
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  Outcome outcome;
  add_commands(app, outcome);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->group("Commands");
  app.footer(kFooter);
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_parse_error(app, error, argv[1]);
  }
  return outcome.status;
}

}  // namespace
}  // namespace kvasir::app

int main(int argc, char** argv) {
  try {
    return kvasir::app::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "kvasir: {}\n", error.what());
    return kvasir::app::kFailure;
  }
}

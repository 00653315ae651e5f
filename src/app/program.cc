#include "app/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/help_formatter.h"
#include "app/say.h"
#include "base/edit_distance.h"

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
    "'kvasir help COMMAND' explains a command.";

void add_commands(CLI::App& app, Outcome& outcome) {
  add_serve(app, outcome);
  add_worker(app, outcome);
  add_gateway(app, outcome);
  add_up(app, outcome);
  add_drain(app, outcome);
  add_chat(app, outcome);
  add_pull(app, outcome);
  add_top(app, outcome);
  add_models(app, outcome);
  add_tenant(app, outcome);
  add_key(app, outcome);
  add_settings(app, outcome);
  add_check(app, outcome);
  add_bench(app, outcome);
  add_quantize(app, outcome);
  add_version(app, outcome);
}

// The full name of the command, for the hint after a usage error.
std::string command_path(const CLI::App& app) {
  std::string path = app.get_name();
  for (const CLI::App* sub : app.get_subcommands()) path += " " + command_path(*sub);
  return path;
}

const CLI::App& innermost(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : innermost(*named.front());
}

bool has_commands(const CLI::App& app) {
  return !app.get_subcommands([](const CLI::App*) { return true; }).empty();
}

// Finds the flag of the command that was probably meant. Empty if none is similar.
std::string nearest_flag(const CLI::App& command, std::string_view given) {
  given = given.substr(0, std::min<std::size_t>(given.find('='), 100));
  std::string nearest;
  std::size_t least = 3;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) {
      const std::size_t distance = base::edit_distance(given, "--" + name);
      if (distance >= least) continue;
      least = distance;
      nearest = "--" + name;
    }
  return nearest;
}

// The error message for a command line that could not be parsed.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) return error.what();
  const std::string& first = extras.front();
  if (first.starts_with("--")) {
    const std::string meant = nearest_flag(command, first);
    return fmt::format("there is no flag {}{}", first,
                       meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
  }
  if (!has_commands(command) || first.starts_with('-')) return error.what();
  std::string path = command_path(app) + " " + first;
  return fmt::format("there is no command '{}'", path.substr(app.get_name().size() + 1));
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  say(stderr, "kvasir: {}\nTry '{} --help'.\n", complaint(app, error), command_path(app));
  return kUsage;
}

// Turns `help` into `--help`, and `help COMMAND...` into `COMMAND... --help`.
std::vector<std::string> without_help_word(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// Returns the first word if it is not a command: showing help for `--help` would hide that mistake.
const std::string* unknown_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return nullptr;
  const auto named = app.get_subcommands([&](const CLI::App* sub) { return sub->check_name(words.front()); });
  return named.empty() ? &words.front() : nullptr;
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App app{kDescription, "kvasir"};
  app.require_subcommand(0, 1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  Outcome outcome;
  add_commands(app, outcome);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->group("Commands");
  app.footer(kFooter);
  if (argc < 2) {
    say(stderr, "{}", app.help());
    return kUsage;
  }
  std::vector<std::string> words = without_help_word({argv + 1, argv + argc});
  if (const std::string* word = unknown_command(app, words)) {
    say(stderr, "kvasir: there is no command '{}'\nTry 'kvasir --help'.\n", *word);
    return kUsage;
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_parse_error(app, error);
  }
  return outcome.status;
}

}  // namespace kvasir::app

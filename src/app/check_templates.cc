#include "app/check_templates.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "app/check_arguments.h"
#include "verify/template_check.h"

namespace kvasir::app {

namespace {

void check_templates(const std::string& golden, Outcome& outcome) {
  const auto result = verify::check_templates(golden);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{} templates, {} renderings, {} differences\n", result->num_templates, result->num_renderings,
             result->num_missed);
  report_failures(outcome, result->failures);
}

}  // namespace

void add_check_templates(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command = check_command.add_subcommand("templates", "Check chat templates, no tokenizer needed");
  auto golden = std::make_shared<std::string>();
  command->add_option("golden", *golden, "What the reference rendered")->type_name("GOLDEN.json")->required();
  command->footer(
      "The rendered text must be equal, and what the reference refuses must be refused. A line shows\n"
      "Kvasir's side, then the reference's.\n"
      "\n"
      "Exit status: 0 all equal, 1 a difference or a failure, 2 wrong usage.");
  command->callback([golden, &outcome] { check_templates(*golden, outcome); });
}

}  // namespace kvasir::app

#include "app/check_drift.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "app/check_arguments.h"
#include "app/ready_model.h"
#include "config/load.h"
#include "verify/drift_check.h"

namespace kvasir::app {

namespace {

struct DriftArguments {
  CheckedModel model;
  std::vector<std::string> texts;
};

base::Result<std::string> read_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return base::error(base::ErrorCode::not_found, "{} cannot be read", path);
  return std::move(text).str();
}

base::Result<verify::DriftCheck> run_drift_check(const DriftArguments& arguments,
                                                 const config::Settings& settings) {
  TRY(const std::filesystem::path path, find_ready_model(arguments.model.name, settings));
  std::vector<std::string> texts;
  for (const std::string& file : arguments.texts) {
    TRY(texts.emplace_back(), read_text(file));
  }
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  ops::ComputePool pool(arguments.model.num_threads, isa);
  TRY(model::LoadedModel exact, model::open_model(path, {.precision = ops::Precision::exact}, pool));
  TRY(model::LoadedModel fast, model::open_model(path, {.precision = ops::Precision::fast}, pool));
  return verify::check_drift(texts, exact, fast, ops::kv_type_named(settings.kv_type));
}

void check_drift(const DriftArguments& arguments, Outcome& outcome) {
  const auto settings = config::load(arguments.model.settings);
  if (!settings.ok()) return report_usage(outcome, settings.error());
  const auto result = run_drift_check(arguments, *settings);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print(
      "{} tokens: mean KL divergence {:.2e} (largest {:.2e}), the same most likely token at {:.2f} %\n",
      result->num_tokens, result->mean_divergence, result->largest_divergence, 100 * result->agreement());
  report_failures(outcome, result->failures());
}

}  // namespace

void add_check_drift(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command =
      check_command.add_subcommand("drift", "Check the fast kernels against float32 over real text");
  auto arguments = std::make_shared<DriftArguments>();
  add_model(*command, arguments->model);
  command->add_option("text", arguments->texts, "Files of text; each begins a context of its own")
      ->type_name("FILE")
      ->required();
  command->footer(
      "The texts' tokens are fed to the model twice: through the fast kernels, and in float32 on the\n"
      "dequantised weights. The mean KL divergence may be at most 2e-3, and the most likely token must be\n"
      "the same at 98.5 % of the tokens or more.\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check_drift(*arguments, outcome); });
}

}  // namespace kvasir::app

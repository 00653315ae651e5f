#include "app/check_embed.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/check_arguments.h"
#include "app/ready_model.h"
#include "config/load.h"
#include "verify/embed_check.h"

namespace kvasir::app {

namespace {

void print_row(const verify::EmbedCheck::Text& text) {
  fmt::print("{:<44} {:>6} {:>6} {:>12.2e}\n", row_label(text.label), text.num_tokens,
             text.ids_equal ? "equal" : "DIFFER", text.distance);
}

base::Result<verify::EmbedCheck> run_embed_check(const GoldenArguments& arguments,
                                                 const config::Settings& settings) {
  TRY(const std::filesystem::path path, find_ready_model(arguments.model.name, settings));
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  ops::ComputePool pool(arguments.model.num_threads, isa);
  const model::EncoderOptions options{.precision = arguments.precision()};
  TRY(model::LoadedEncoder loaded, model::open_encoder(path, options, pool));
  return verify::check_embeddings(arguments.golden, loaded);
}

void check_embed(const GoldenArguments& arguments, Outcome& outcome) {
  const auto settings = config::load(arguments.model.settings);
  if (!settings.ok()) return report_usage(outcome, settings.error());
  const auto result = run_embed_check(arguments, *settings);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{:<44} {:>6} {:>6} {:>12}\n", "", "tokens", "ids", "1 - cosine");
  for (const auto& text : result->texts) print_row(text);
  fmt::print("{}\n", result->passed() ? "ok" : "MISSED");
  if (!result->passed()) outcome.status = kFailure;
}

}  // namespace

void add_check_embed(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command = check_command.add_subcommand("embed", "Check an encoder's embeddings");
  auto arguments = std::make_shared<GoldenArguments>();
  add_golden(*command, *arguments);
  command->footer(
      "The token ids must be equal, and each embedding within 1e-3 of the reference's (1 - cosine).\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check_embed(*arguments, outcome); });
}

}  // namespace kvasir::app

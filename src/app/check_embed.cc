#include "app/check_embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "app/ready_model.h"
#include "config/load.h"
#include "model/embed_check.h"

namespace kvasir::app {

namespace {

struct Arguments {
  config::FlagValues settings;
  std::string model;
  std::string golden;
  bool exact = false;
  int num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

void print_row(const model::EmbedCheck::Text& text) {
  std::string label = text.label.substr(0, text.label.find('\n'));
  if (label.size() > 44) label = label.substr(0, 41) + "...";
  fmt::print("{:<44} {:>6} {:>6} {:>12.2e}\n", label, text.num_tokens, text.ids_equal ? "equal" : "DIFFER",
             text.distance);
}

base::Result<model::EmbedCheck> run(const Arguments& arguments, const config::Settings& settings) {
  TRY(const std::filesystem::path path, find_ready_model(arguments.model, settings));
  ops::ComputePool pool(arguments.num_threads);
  const model::EncoderOptions options{.precision =
                                          arguments.exact ? ops::Precision::exact : ops::Precision::fast};
  TRY(model::LoadedEncoder loaded, model::open_encoder(path, options, pool));
  return model::check_embeddings(arguments.golden, loaded);
}

void check(const Arguments& arguments, Outcome& outcome) {
  const auto settings = config::load(arguments.settings);
  if (!settings.ok()) return report_usage(outcome, settings.error());
  const auto result = run(arguments, *settings);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{:<44} {:>6} {:>6} {:>12}\n", "", "tokens", "ids", "1 - cosine");
  for (const auto& text : result->texts) print_row(text);
  fmt::print("{}\n", result->passed() ? "ok" : "MISSED");
  if (!result->passed()) outcome.status = kFailure;
}

}  // namespace

void add_check_embed(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command = check_command.add_subcommand("embed", "Check an encoder's embeddings");
  auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("model", arguments->model,
                   "A GGUF file, a model directory, or a name from 'kvasir models'")
      ->type_name("NAME|PATH")
      ->required();
  command->add_option("golden", arguments->golden, "What a float32 reference computed")
      ->type_name("GOLDEN.json")
      ->required();
  command->add_flag("--exact", arguments->exact, "Float32 on the dequantised weights, not the fast kernels");
  command->add_option("--threads", arguments->num_threads, "Compute threads")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  config::add_flags(*command, arguments->settings, {"model_dir"});
  command->footer(
      "The token ids must be equal, and each embedding within 1e-3 of the reference's (1 - cosine).\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check(*arguments, outcome); });
}

}  // namespace kvasir::app

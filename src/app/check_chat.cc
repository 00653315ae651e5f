#include "app/check_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "app/ready_model.h"
#include "config/load.h"
#include "model/chat_check.h"

namespace kvasir::app {

namespace {

struct Arguments {
  config::FlagValues settings;
  std::string model;
  std::string golden;
  bool exact = false;
  int num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
};

void print_row(const model::ChatCheck::Tokens& tokens) {
  std::string label = tokens.label.substr(0, tokens.label.find('\n'));
  if (label.size() > 44) label = label.substr(0, 41) + "...";
  fmt::print("{:<44} {:>6} {:>5} {:>4}/{:<4} {:>10.4f} {:>9.4f} {:>9.4f}\n", label,
             tokens.text_equal ? "equal" : "DIFFER", tokens.ids_equal ? "equal" : "DIFFER", tokens.num_equal,
             tokens.num_tokens, tokens.logprob_error, tokens.nll, tokens.reference_nll);
}

base::Result<model::ChatCheck> run(const Arguments& arguments, const config::Settings& settings) {
  TRY(const std::filesystem::path path, find_ready_model(arguments.model, settings));
  ops::ComputePool pool(arguments.num_threads);
  const model::DecoderOptions options{.precision =
                                          arguments.exact ? ops::Precision::exact : ops::Precision::fast};
  TRY(model::LoadedModel loaded, model::open_model(path, options, pool));
  return model::check_chat(arguments.golden, loaded,
                           arguments.exact ? tensor::DType::f32 : tensor::DType::f16);
}

void check(const Arguments& arguments, Outcome& outcome) {
  const auto settings = config::load(arguments.settings);
  if (!settings.ok()) return report_usage(outcome, settings.error());
  const auto result = run(arguments, *settings);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{:<44} {:>6} {:>5} {:>9} {:>10} {:>9} {:>9}\n", "", "text", "ids", "argmax", "|d logprob|",
             "NLL", "reference");
  for (const auto& chat : result->chats) print_row(chat);
  for (const auto& text : result->texts) print_row(text);
  fmt::print("mean |d logprob| of the chats: {:.4f} (at most {})\n", result->chat_logprob_error(),
             model::ChatCheck::kMaxLogprobError);
  const std::vector<std::string> failures = result->failures();
  for (const std::string& failure : failures) fmt::print("MISSED {}\n", failure);
  if (failures.empty())
    fmt::print("ok\n");
  else
    outcome.status = kFailure;
}

}  // namespace

void add_check_chat(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command = check_command.add_subcommand("chat", "Check a real model's chats and texts");
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
      "The template's text and the token ids must be equal. Then, fed the reference's own tokens, the most\n"
      "likely token must be the reference's wherever its margin is at least 0.3, the mean |d logprob| of "
      "the\n"
      "chats at most 0.03, and each text's mean NLL within 0.01 of the reference's.\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check(*arguments, outcome); });
}

}  // namespace kvasir::app

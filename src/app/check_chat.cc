#include "app/check_chat.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "app/check_arguments.h"
#include "app/ready_model.h"
#include "config/load.h"
#include "verify/chat_check.h"

namespace kvasir::app {

namespace {

void print_row(const verify::ChatCheck::Tokens& tokens) {
  fmt::print("{:<44} {:>6} {:>5} {:>4}/{:<4} {:>10.4f} {:>9.4f} {:>9.4f}\n", row_label(tokens.label),
             tokens.text_equal ? "equal" : "DIFFER", tokens.ids_equal ? "equal" : "DIFFER", tokens.num_equal,
             tokens.num_tokens, tokens.logprob_error, tokens.nll, tokens.reference_nll);
}

base::Result<verify::ChatCheck> run_on_cuda(const GoldenArguments& arguments,
                                            const config::Settings& settings,
                                            const std::filesystem::path& path, ops::ComputePool& pool) {
  const model::DeviceOptions options{.type = arguments.exact ? tensor::DType::f32 : tensor::DType::bf16,
                                     .num_blocks = verify::ChatCheck::kMaxTokens / ops::kBlockTokens,
                                     .max_rows = verify::ChatCheck::kMaxTokens,
                                     .max_sequences = verify::ChatCheck::kMaxTokens,
                                     .fp8_kv = settings.gpu_kv == "fp8",
                                     .weights = model::weight_numbers_named(settings.gpu_weights),
                                     .batch_invariant = settings.gpu_batch_invariant};
  TRY(model::LoadedDeviceModel loaded, model::open_model_on_cuda(path, options, pool));
  return verify::check_chat(arguments.golden, loaded);
}

base::Result<verify::ChatCheck> run_chat_check(const GoldenArguments& arguments,
                                               const config::Settings& settings) {
  TRY(const std::filesystem::path path, find_ready_model(arguments.model.name, settings));
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  ops::ComputePool pool(arguments.model.num_threads, isa);
  if (model::computes_on_cuda(settings.device)) return run_on_cuda(arguments, settings, path, pool);
  const model::DecoderOptions options{.precision = arguments.precision()};
  TRY(model::LoadedModel loaded, model::open_model(path, options, pool));
  return verify::check_chat(arguments.golden, loaded,
                            arguments.exact ? ops::KvType::f32 : ops::kv_type_named(settings.kv_type));
}

void check_chat(const GoldenArguments& arguments, Outcome& outcome) {
  const auto settings = config::load(arguments.model.settings);
  if (!settings.ok()) return report_usage(outcome, settings.error());
  const auto result = run_chat_check(arguments, *settings);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{:<44} {:>6} {:>5} {:>9} {:>10} {:>9} {:>9}\n", "", "text", "ids", "argmax", "|d logprob|",
             "NLL", "reference");
  for (const auto& chat : result->chats) print_row(chat);
  for (const auto& text : result->texts) print_row(text);
  fmt::print("mean |d logprob| of the chats: {:.4f} (at most {})\n", result->chat_logprob_error(),
             verify::ChatCheck::kMaxLogprobError);
  report_failures(outcome, result->failures());
}

}  // namespace

void add_check_chat(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command = check_command.add_subcommand("chat", "Check a real model's chats and texts");
  auto arguments = std::make_shared<GoldenArguments>();
  add_golden(*command, *arguments, {"device", "gpu_weights", "gpu_kv", "gpu_batch_invariant"});
  command->footer(
      "The template's text and the token ids must be equal. Then, fed the reference's own tokens, the most\n"
      "likely token must be the reference's wherever its margin is at least 0.3, the mean |d logprob| of "
      "the\n"
      "chats at most 0.03, and each text's mean NLL within 0.01 of the reference's.\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check_chat(*arguments, outcome); });
}

}  // namespace kvasir::app

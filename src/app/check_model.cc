#include "app/check_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "verify/embed_check.h"
#include "verify/model_check.h"

namespace kvasir::app {

namespace {

std::string name_of(const std::string& directory) {
  std::filesystem::path name = std::filesystem::path(directory).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return name.filename().string();
}

base::Status check_decoder(const std::string& directory, ops::ComputePool& pool, Outcome& outcome) {
  TRY(const verify::ModelCheck check, verify::check_model(directory, pool));
  fmt::print("{:<24} {:>12.2e} {:>14.2e} {:>7}/{:<2}  {}\n", name_of(directory), check.logit_error,
             check.logprob_error, check.num_equal, check.num_greedy, check.passed() ? "ok" : "MISSED");
  if (check.passed()) return base::ok();
  outcome.status = kFailure;
  if (check.num_missed > 0)
    fmt::print("  {} greedy tokens differ where the margin is at least {}, the first at {}\n",
               check.num_missed, verify::ModelCheck::kMinMargin, check.first_missed);
  if (!(check.logit_error <= verify::ModelCheck::kMaxLogitError))
    fmt::print("  the logit error is over {}\n", verify::ModelCheck::kMaxLogitError);
  return base::ok();
}

base::Status check_encoder(const std::string& directory, ops::ComputePool& pool, Outcome& outcome) {
  TRY(const verify::EmbedCheck check, verify::check_encoder(directory, pool));
  fmt::print("{:<24} {:>12.2e} of 1 - cosine over {} texts  {}\n", name_of(directory),
             check.largest_distance(), check.texts.size(), check.passed() ? "ok" : "MISSED");
  if (!check.passed()) outcome.status = kFailure;
  return base::ok();
}

void check_directories(const std::vector<std::string>& directories, Outcome& outcome) {
  ops::ComputePool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  fmt::print("{:<24} {:>12} {:>14} {:>10}\n", "model", "logit error", "logprob error", "greedy");
  for (const std::string& directory : directories) {
    const auto encoder = model::holds_encoder(directory);
    if (!encoder.ok()) {
      report(outcome, encoder.error());
      continue;
    }
    const base::Status status =
        *encoder ? check_encoder(directory, pool, outcome) : check_decoder(directory, pool, outcome);
    if (!status.ok()) report(outcome, status.error());
  }
}

}  // namespace

void add_check_model(CLI::App& check, Outcome& outcome) {
  CLI::App* command = check.add_subcommand("model", "Check small checkpoints in float32");
  auto directories = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("dir", *directories, "Directories with config.json, model.safetensors and expected.json")
      ->type_name("DIR")
      ->required();
  command->footer(
      "Prints the largest logit error relative to the logits' spread (at most 2e-3), the largest\n"
      "logprob error, and how many of the reference's greedy tokens are Kvasir's too; of an encoder, the\n"
      "largest distance of an embedding (1 - cosine, at most 1e-3).\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  command->callback([directories, &outcome] { check_directories(*directories, outcome); });
}

}  // namespace kvasir::app

#include "app/check_tokenizer.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "app/check_arguments.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "verify/tokenizer_check.h"

namespace kvasir::app {

namespace {

struct TokenizerArguments {
  std::string tokenizer;
  std::string golden;
  std::string prepared;
};

void check_tokenizer(const TokenizerArguments& arguments, Outcome& outcome) {
  const model::TokenizerCache cache({.directory = arguments.prepared});
  const auto result = verify::check_tokenizer(arguments.tokenizer, arguments.golden, cache);
  if (!result.ok()) return report(outcome, result.error());
  fmt::print("{} texts, {} chats, {} streams, {} differences\n", result->num_texts, result->num_chats,
             result->num_streams, result->num_missed);
  report_failures(outcome, result->failures);
}

}  // namespace

void add_check_tokenizer(CLI::App& check_command, Outcome& outcome) {
  CLI::App* command =
      check_command.add_subcommand("tokenizer", "Check a tokenizer and its chat template, no model needed");
  auto arguments = std::make_shared<TokenizerArguments>();
  command->add_option("tokenizer", arguments->tokenizer, "A directory with tokenizer.json, or a GGUF file")
      ->type_name("PATH")
      ->required();
  command->add_option("golden", arguments->golden, "What the reference made of texts and chats")
      ->type_name("GOLDEN.json")
      ->required();
  command
      ->add_option("--prepared", arguments->prepared,
                   "Load the tokenizer's prepared form from this directory, or put it there")
      ->type_name("DIR");
  command->footer(
      "Token ids, decoded text, streamed text and rendered chats must all be equal. A line shows Kvasir's\n"
      "side, then the reference's.\n"
      "\n"
      "Exit status: 0 all equal, 1 a difference or a failure, 2 wrong usage.");
  command->callback([arguments, &outcome] { check_tokenizer(*arguments, outcome); });
}

}  // namespace kvasir::app

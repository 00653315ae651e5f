#include <CLI/CLI.hpp>

#include "app/check_chat.h"
#include "app/check_drift.h"
#include "app/check_embed.h"
#include "app/check_model.h"
#include "app/check_templates.h"
#include "app/check_tokenizer.h"
#include "app/command.h"

namespace kvasir::app {

void add_check(CLI::App& app, Outcome& outcome) {
  CLI::App* command =
      app.add_subcommand("check", "Compare a model's arithmetic or its tokens with a reference's");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  kvasir check model tests/golden/models/*\n"
      "  kvasir check chat smollm2 tests/golden/real/smollm2.json\n"
      "  kvasir check drift smollm2 README.md\n"
      "  kvasir check embed minilm tests/golden/real/minilm.json\n"
      "  kvasir check tokenizer DIRECTORY tests/golden/tokenizers/qwen.json\n"
      "\n"
      "Exit status: 0 everything within its bound, 1 a miss or a failure, 2 wrong usage.");
  add_check_model(*command, outcome);
  add_check_chat(*command, outcome);
  add_check_drift(*command, outcome);
  add_check_embed(*command, outcome);
  add_check_templates(*command, outcome);
  add_check_tokenizer(*command, outcome);
}

}  // namespace kvasir::app

#include <CLI/CLI.hpp>

#include "app/bench_embed.h"
#include "app/bench_engine.h"
#include "app/bench_serve.h"
#include "app/bench_sim.h"
#include "app/bench_tokenizer.h"
#include "app/command.h"

namespace kvasir::app {

void add_bench(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measure the engine, an encoder or a tokenizer on this machine, or a server under load");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  kvasir bench engine --model smollm2\n"
      "  kvasir bench serve --url http://127.0.0.1:8080 --concurrency 1,8,32\n"
      "  kvasir bench sim --device gpu --workload mixed --rates 20,40,60\n"
      "  kvasir bench tokenizer smollm2 README.md\n"
      "  kvasir bench embed minilm\n"
      "\n"
      "Exit status: 0 measured, 1 failure, 2 wrong usage, 130 interrupted.");
  add_bench_engine(*command, outcome);
  add_bench_serve(*command, outcome);
  add_bench_sim(*command, outcome);
  add_bench_tokenizer(*command, outcome);
  add_bench_embed(*command, outcome);
}

}  // namespace kvasir::app

#pragma once

#include "base/result.h"

namespace CLI {
class App;
}

namespace kvasir::app {

// The exit status of the process. Set by the subcommand that ran.
struct Outcome {
  int status = 0;
};

inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;

// Prints "kvasir: <message>" on stderr and sets the status: kUsage if the command line itself is wrong,
// kFailure otherwise.
void report(Outcome& outcome, const base::Error& error);
void report_usage(Outcome& outcome, const base::Error& error);

// Each function adds its subcommand to `app`, with a callback that runs it. It is defined in the file with
// the command's name.
void add_serve(CLI::App& app, Outcome& outcome);
void add_worker(CLI::App& app, Outcome& outcome);
void add_gateway(CLI::App& app, Outcome& outcome);
void add_up(CLI::App& app, Outcome& outcome);
void add_drain(CLI::App& app, Outcome& outcome);
void add_pull(CLI::App& app, Outcome& outcome);
void add_chat(CLI::App& app, Outcome& outcome);
void add_top(CLI::App& app, Outcome& outcome);
void add_models(CLI::App& app, Outcome& outcome);
void add_tenant(CLI::App& app, Outcome& outcome);
void add_key(CLI::App& app, Outcome& outcome);
void add_settings(CLI::App& app, Outcome& outcome);
void add_check(CLI::App& app, Outcome& outcome);
void add_quantize(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_version(CLI::App& app, Outcome& outcome);

}  // namespace kvasir::app

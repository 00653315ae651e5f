#include "app/bench_serve.h"

#include <fmt/format.h>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "app/bench_load_flags.h"
#include "app/progress_line.h"
#include "app/signal_watch.h"
#include "bench/load_session.h"
#include "bench/trace.h"

namespace kvasir::app {

namespace {

using base::ErrorCode;

constexpr int kInterrupted = 130;

struct Flags : LoadFlags {
  std::string endpoint = "chat";
  std::string trace;
};

// Checks the flags and completes the options, before anything is sent.
base::Status settle(Flags& flags) {
  bench::SessionOptions& session = flags.session;
  TRY_OK(settle_load(flags));
  if (!flags.trace.empty()) {
    auto entries = bench::read_trace(flags.trace);
    if (!entries.ok())
      return base::error(ErrorCode::invalid_argument, "--trace: {}", entries.error().message);
    session.trace = std::move(*entries);
    session.workload = flags.trace;
  }
  session.target.endpoint =
      flags.endpoint == "completions" ? bench::Endpoint::completions : bench::Endpoint::chat;
  return base::ok();
}

base::Result<bench::LoadReport> measure(Flags& flags, std::stop_token stop) {
  TRY_OK(settle(flags));
  ProgressLine progress;
  return bench::run_session(
      flags.session, [&](std::string_view text) { progress.show(text); }, std::move(stop));
}

void bench_serve(Flags& flags, Outcome& outcome) {
  std::stop_source stop;
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) { stop.request_stop(); });
  const auto report = measure(flags, stop.get_token());
  if (!report.ok()) {
    const bool usage = report.error().code == ErrorCode::invalid_argument;
    return usage ? report_usage(outcome, report.error()) : app::report(outcome, report.error());
  }
  print_load_report(flags, *report, outcome);
  if (stop.stop_requested()) outcome.status = kInterrupted;
}

void add_target_flags(CLI::App& command, Flags& flags) {
  command.add_option("--url", flags.session.target.url, "Address of the server, with or without /v1")
      ->type_name("URL")
      ->envname("KVASIR_URL")
      ->default_val("http://127.0.0.1:8080");
  command
      .add_option("--model", flags.session.target.model,
                  "Model to ask (default: the first that the server lists)")
      ->type_name("NAME");
  command.add_option("--api-key", flags.session.target.api_key, "Key for a server that wants one")
      ->type_name("KEY")
      ->envname("KVASIR_API_KEY");
  command
      .add_option("--ca-file", flags.session.target.ca_file,
                  "PEM file of certificates to trust, besides the system's")
      ->type_name("FILE")
      ->envname("KVASIR_CA_FILE");
  command.add_option("--endpoint", flags.endpoint, "/v1/chat/completions or /v1/completions")
      ->check(CLI::IsMember({"chat", "completions"}))
      ->type_name("chat|completions")
      ->capture_default_str();
  command.add_option("--temperature", flags.session.target.temperature, "0: always the likeliest token")
      ->type_name("T")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command.add_option("--timeout", flags.session.target.timeout_s, "Seconds that one request may take")
      ->type_name("S")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
}

void add_trace_flags(CLI::App& command, Flags& flags) {
  command
      .add_option("--trace", flags.trace,
                  "Requests from a file instead: a JSON object a line, with timestamp (ms) or arrival_s; "
                  "messages, prompt, or input_length and hash_ids; output_length")
      ->type_name("FILE.jsonl");
  command.add_option("--speed", flags.session.speed, "Replay a trace's times so many times as fast")
      ->type_name("X")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
}

}  // namespace

void add_bench_serve(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command = bench_command.add_subcommand(
      "serve", "Put load on a server with an OpenAI-compatible API and measure what its clients see");
  auto flags = std::make_shared<Flags>();
  add_target_flags(*command, *flags);
  add_load_flags(*command, *flags);
  add_workload_flags(*command, *flags);
  add_trace_flags(*command, *flags);
  add_report_flags(*command, *flags);
  command->footer(
      "Workloads (every prompt is made up, and differs from every other from its first word on):\n"
      "  chat           one question each\n"
      "  shared-prefix  questions under the same system message, a fresh one in each phase\n"
      "  multi-turn     conversations that grow by the server's own answers\n"
      "  long-prompt    chats, and one long prompt in --long-every\n"
      "  mixed          one question each, of lengths that differ as people's do (lognormal)\n"
      "  burst          the same; in an open loop --burst of them arrive at the same time\n"
      "  prefix         the same, under --prefix-groups system messages\n"
      "  long           the same, and one long prompt among them\n"
      "\n"
      "Measured: TTFT, the time to the first token; TPOT, the time for each further one; ITL, the gaps\n"
      "between the chunks of a stream, and the longest; output tokens/s; goodput, the requests a second "
      "that\n"
      "met --slo-ttft and --slo-tpot (500 and 50 ms for mixed, burst, prefix and long). Tokens are counted "
      "by the server's usage, else as chunks.\n"
      "\n"
      "Examples:\n"
      "  kvasir bench serve --concurrency 1,8,32 --report load.html\n"
      "  kvasir bench serve --rate 2 --duration 60 --slo-ttft 1000 --slo-tpot 100\n"
      "  kvasir bench serve --workload mixed --rates 1,2,4,8 --duration 60 --report goodput.html\n"
      "  kvasir bench serve --workload shared-prefix --concurrency 8 --json\n"
      "  kvasir bench serve --url http://127.0.0.1:8000 --trace day.jsonl --speed 10\n"
      "\n"
      "Exit status: 0 measured, 1 no server or a phase in which nothing went well, 2 wrong usage,\n"
      "130 interrupted (what was measured until then is printed).");
  command->callback([flags, &outcome] { bench_serve(*flags, outcome); });
}

}  // namespace kvasir::app

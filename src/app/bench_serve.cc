#include "app/bench_serve.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "app/progress_line.h"
#include "app/say.h"
#include "app/signal_watch.h"
#include "bench/load_report.h"
#include "bench/load_session.h"
#include "bench/trace.h"

namespace kvasir::app {

namespace {

using base::ErrorCode;

constexpr int kInterrupted = 130;

struct ServeFlags {
  bench::SessionOptions session;
  std::string endpoint = "chat";
  std::string workload = "chat";
  std::string trace;
  std::optional<std::uint64_t> seed;
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  bool json = false;
  std::string report;
};

std::optional<double> in_seconds(const std::optional<double>& ms) {
  if (!ms) return std::nullopt;
  return *ms / 1000;
}

// What the flags say together, before anything is sent.
base::Status settle(ServeFlags& flags) {
  bench::SessionOptions& session = flags.session;
  if (!session.concurrency.empty() && !session.rates.empty())
    return base::error(ErrorCode::invalid_argument, "--rate: not together with --concurrency");
  TRY(session.shape.kind, bench::parse_workload(flags.workload));
  session.workload = flags.workload;
  if (!flags.trace.empty()) {
    auto entries = bench::read_trace(flags.trace);
    if (!entries.ok())
      return base::error(ErrorCode::invalid_argument, "--trace: {}", entries.error().message);
    session.trace = std::move(*entries);
    session.workload = flags.trace;
  }
  session.target.endpoint =
      flags.endpoint == "completions" ? bench::Endpoint::completions : bench::Endpoint::chat;
  session.shape.seed = flags.seed ? *flags.seed : std::random_device()();
  session.slo = {in_seconds(flags.slo_ttft_ms), in_seconds(flags.slo_tpot_ms)};
  return base::ok();
}

base::Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::error(ErrorCode::io, "--report: cannot write {}", path);
  return base::ok();
}

void print_report(const ServeFlags& flags, const bench::LoadReport& report, Outcome& outcome) {
  if (flags.json)
    fmt::print("{}\n", boost::json::serialize(bench::load_json(report)));
  else
    fmt::print("{}", bench::load_table(report));
  if (!flags.report.empty()) {
    if (const auto written = write_file(flags.report, bench::load_html(report)); !written.ok())
      return app::report(outcome, written.error());
    say(stderr, "Report: {}\n", flags.report);
  }
  for (const bench::PhaseSummary& phase : report.phases)
    if (phase.num_ok == 0) outcome.status = kFailure;
}

base::Result<bench::LoadReport> measure(ServeFlags& flags, std::stop_token stop) {
  TRY_OK(settle(flags));
  ProgressLine progress;
  return bench::run_session(
      flags.session, [&](std::string_view text) { progress.show(text); }, std::move(stop));
}

void bench_serve(ServeFlags& flags, Outcome& outcome) {
  std::stop_source stop;
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) { stop.request_stop(); });
  const auto report = measure(flags, stop.get_token());
  if (!report.ok()) {
    const bool usage = report.error().code == ErrorCode::invalid_argument;
    return usage ? report_usage(outcome, report.error()) : app::report(outcome, report.error());
  }
  print_report(flags, *report, outcome);
  if (stop.stop_requested()) outcome.status = kInterrupted;
}

void add_target_flags(CLI::App& command, ServeFlags& flags) {
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

void add_load_flags(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--concurrency", flags.session.concurrency,
                  "Closed loop: so many clients, each sending its next request when its last is answered; "
                  "several values are measured one after the other (default: 1,8)")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  command
      .add_option("--rate", flags.session.rates,
                  "Open loop: Poisson arrivals, so many requests a second, whether the server keeps up or "
                  "not; latency counts from the arrival")
      ->type_name("R,...")
      ->delimiter(',')
      ->check(CLI::Range(1e-3, 1e5));
  command
      .add_option("--requests", flags.session.num_requests,
                  "Requests of each phase (default: four for each client, at least 16)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000));
  command
      .add_option("--duration", flags.session.duration_s,
                  "Seconds of each phase: none starts later, and rates count what came by then")
      ->type_name("S")
      ->check(CLI::Range(0.1, 86400.0 * 30));
  command
      .add_option("--warmup", flags.session.num_warmups,
                  "Requests before each phase that do not count (default: up to 4)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command.add_option("--seed", flags.seed, "Of prompts and arrivals (default: another each time)")
      ->type_name("N");
}

void add_workload_flags(CLI::App& command, ServeFlags& flags) {
  bench::WorkloadOptions& shape = flags.session.shape;
  const auto tokens = [&](const char* name, int& into, const char* help) {
    command.add_option(name, into, help)
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
  };
  command
      .add_option("--workload", flags.workload, "chat, shared-prefix, multi-turn or long-prompt; see below")
      ->type_name("NAME")
      ->check(CLI::IsMember({"chat", "shared-prefix", "multi-turn", "long-prompt"}))
      ->capture_default_str();
  tokens("--input-tokens", shape.input_tokens, "Tokens of each user message, the template's included");
  tokens("--output-tokens", shape.output_tokens, "Tokens of each answer");
  command
      .add_option("--vary", shape.vary,
                  "Vary both lengths by this share, evenly: 0.5 is half to one and a half")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  tokens("--prefix-tokens", shape.prefix_tokens, "shared-prefix: tokens of the system message");
  tokens("--prefix-groups", shape.prefix_groups, "shared-prefix: different system messages");
  tokens("--turns", shape.turns, "multi-turn: messages of each conversation");
  tokens("--long-tokens", shape.long_tokens, "long-prompt: tokens of a long prompt");
  tokens("--long-every", shape.long_every, "long-prompt: one prompt in so many is long");
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

void add_report_flags(CLI::App& command, ServeFlags& flags) {
  command.add_option("--slo-ttft", flags.slo_ttft_ms, "A good request has its first token within so many ms")
      ->type_name("MS")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--slo-tpot", flags.slo_tpot_ms, "... and takes at most so many ms for each further one")
      ->type_name("MS")
      ->check(CLI::PositiveNumber);
  command.add_flag("--json", flags.json, "Print one JSON object instead of the table");
  command.add_option("--report", flags.report, "Also write a page with plots, which opens offline")
      ->type_name("FILE.html");
}

}  // namespace

void add_bench_serve(CLI::App& bench_command, Outcome& outcome) {
  CLI::App* command = bench_command.add_subcommand(
      "serve", "Put load on a server with an OpenAI-compatible API and measure what its clients see");
  auto flags = std::make_shared<ServeFlags>();
  add_target_flags(*command, *flags);
  add_load_flags(*command, *flags);
  add_workload_flags(*command, *flags);
  add_report_flags(*command, *flags);
  command->footer(
      "Workloads (every prompt is made up, and differs from every other from its first word on):\n"
      "  chat           one question each\n"
      "  shared-prefix  questions under the same system message, a fresh one in each phase\n"
      "  multi-turn     conversations that grow by the server's own answers\n"
      "  long-prompt    chats, and one long prompt in --long-every\n"
      "\n"
      "Measured: TTFT, the time to the first token; TPOT, the time for each further one; ITL, the gaps\n"
      "between the chunks of a stream, and the longest; output tokens/s; goodput, the requests a second "
      "that\n"
      "met --slo-ttft and --slo-tpot. Tokens are counted by the server's usage, else as chunks.\n"
      "\n"
      "Examples:\n"
      "  kvasir bench serve --concurrency 1,8,32 --report load.html\n"
      "  kvasir bench serve --rate 2 --duration 60 --slo-ttft 1000 --slo-tpot 100\n"
      "  kvasir bench serve --workload shared-prefix --concurrency 8 --json\n"
      "  kvasir bench serve --url http://127.0.0.1:8000 --trace day.jsonl --speed 10\n"
      "\n"
      "Exit status: 0 measured, 1 no server or a phase in which nothing went well, 2 wrong usage,\n"
      "130 interrupted (what was measured until then is printed).");
  command->callback([flags, &outcome] { bench_serve(*flags, outcome); });
}

}  // namespace kvasir::app

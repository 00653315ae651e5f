#include "app/bench_serve.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "app/progress_line.h"
#include "app/signal_watch.h"
#include "bench/load_report.h"
#include "bench/probe.h"
#include "bench/trace.h"

namespace kvasir::app {

namespace {

using base::ErrorCode;

constexpr int kInterrupted = 130;

struct Flags {
  bench::TargetOptions target;
  std::string endpoint = "chat";
  std::string workload = "chat";
  bench::WorkloadOptions shape;
  std::string trace;
  double speed = 1;
  std::vector<int> concurrency;
  std::vector<double> rate;
  int num_requests = 0;
  double duration_s = 0;
  int warmup = -1;
  std::optional<std::uint64_t> seed;
  std::optional<double> slo_ttft_ms;
  std::optional<double> slo_tpot_ms;
  bool json = false;
  std::string report;
};

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
}

std::optional<double> in_seconds(const std::optional<double>& ms) {
  if (!ms) return std::nullopt;
  return *ms / 1000;
}

// One `bench serve`: probe, then each phase after its warm-up.
class Session {
 public:
  Session(const Flags& flags, std::stop_token stop) : flags_(flags), stop_(std::move(stop)) {}

  base::Result<bench::LoadReport> run() {
    TRY_OK(prepare());
    progress_.show("probing the server");
    TRY(bench::Target target, bench::open_target(flags_.target));
    TRY(probe_, bench::probe(target, stop_));
    describe(target);
    const std::vector<bench::LoadPhase> phases = plan();
    for (const bench::LoadPhase& phase : phases) {
      if (stop_.stop_requested()) break;
      warm_up(target, phase);
      measure(target, phase, phases.size());
    }
    progress_.clear();
    return std::move(report_);
  }

 private:
  // What the flags say together, before anything is sent.
  base::Status prepare() {
    TRY(shape_.kind, bench::parse_workload(flags_.workload));
    const bench::WorkloadKind kind = shape_.kind;
    shape_ = flags_.shape;
    shape_.kind = kind;
    if (!flags_.concurrency.empty() && !flags_.rate.empty())
      return base::error(ErrorCode::invalid_argument, "--rate: not together with --concurrency");
    if (!flags_.trace.empty()) {
      auto entries = bench::read_trace(flags_.trace);
      if (!entries.ok())
        return base::error(ErrorCode::invalid_argument, "--trace: {}", entries.error().message);
      trace_ = std::move(*entries);
    }
    shape_.seed = flags_.seed ? *flags_.seed : std::random_device()();
    return base::ok();
  }

  void describe(const bench::Target& target) {
    report_.url = target.base_url();
    report_.endpoint = flags_.endpoint == "chat" ? "/v1/chat/completions" : "/v1/completions";
    report_.model = target.model;
    report_.workload = flags_.trace.empty() ? flags_.workload : flags_.trace;
    report_.input_tokens = shape_.input_tokens;
    report_.output_tokens = shape_.output_tokens;
    report_.seed = shape_.seed;
    report_.slo = {in_seconds(flags_.slo_ttft_ms), in_seconds(flags_.slo_tpot_ms)};
    report_.notes = probe_.notes;
    report_.started = now_text();
  }

  bench::LoadPhase blank_phase(int number) const {
    bench::LoadPhase phase;
    phase.number = number;
    phase.num_requests = flags_.num_requests;
    phase.duration_s = flags_.duration_s;
    phase.timeout_s = flags_.target.timeout_s;
    phase.seed = shape_.seed;
    const bool unlimited = phase.num_requests == 0 && phase.duration_s == 0;
    if (!trace_.empty() && (unlimited || phase.num_requests > std::ssize(trace_)))
      phase.num_requests = static_cast<int>(trace_.size());
    return phase;
  }

  std::vector<bench::LoadPhase> plan() const {
    std::vector<bench::LoadPhase> phases;
    const auto add = [&](int concurrency, double rate) {
      bench::LoadPhase phase = blank_phase(static_cast<int>(phases.size()) + 1);
      phase.concurrency = concurrency;
      phase.rate = rate;
      if (phase.num_requests == 0 && phase.duration_s == 0)
        phase.num_requests = std::max(16, concurrency > 0 ? 4 * concurrency : static_cast<int>(30 * rate));
      phases.push_back(std::move(phase));
    };
    for (const double rate : flags_.rate) add(0, rate);
    for (const int concurrency : flags_.concurrency) add(concurrency, 0);
    if (!phases.empty()) return phases;
    if (trace_.empty() || !trace_.front().arrival_s) {
      for (const int concurrency : {1, 8}) add(concurrency, 0);
      return phases;
    }
    phases.push_back(blank_phase(1));
    for (const bench::TraceEntry& entry : trace_)
      phases.back().arrivals_s.push_back(*entry.arrival_s / flags_.speed);
    return phases;
  }

  bench::ConversationSource source(int phase_number) const {
    return [this, phase_number](std::uint64_t index) {
      if (trace_.empty()) return bench::make_conversation(shape_, probe_.scale, phase_number, index);
      return bench::conversation_of(trace_[index % trace_.size()], probe_.scale,
                                    shape_.seed + static_cast<std::uint64_t>(phase_number), index);
    };
  }

  // Its prompts are of no phase that counts.
  void warm_up(const bench::Target& target, const bench::LoadPhase& phase) {
    const int clients = std::max(1, phase.concurrency);
    const int num_requests = flags_.warmup >= 0 ? flags_.warmup : std::min(clients, 4);
    if (num_requests == 0) return;
    bench::LoadPhase warm = blank_phase(1000 + phase.number);
    warm.concurrency = std::min(clients, num_requests);
    warm.num_requests = num_requests;
    warm.duration_s = 0;
    bench::WorkloadOptions shape = shape_;
    shape.kind = bench::WorkloadKind::chat;
    progress_.show("warming up");
    bench::run_load(target, warm,
                    [&](std::uint64_t index) {
                      return bench::make_conversation(shape, probe_.scale, warm.number, index);
                    },
                    {.stop = stop_});
  }

  void measure(const bench::Target& target, const bench::LoadPhase& phase, std::size_t num_phases) {
    const std::string label =
        bench::PhaseSummary{.concurrency = phase.concurrency, .rate = phase.rate}.label();
    bench::LoadWatch watch;
    watch.stop = stop_;
    watch.on_progress = [&](const bench::LoadProgress& p) {
      const std::string total =
          phase.num_requests > 0 ? fmt::format(" of {}", phase.num_requests) : std::string();
      const std::string failed = p.num_failed > 0 ? fmt::format(", {} failed", p.num_failed) : "";
      progress_.show(fmt::format("[{}/{}] {}: {}{} requests, {} in flight{}, {:.0f} chunks/s, {:.0f} s",
                                 phase.number, num_phases, label, p.num_done, total, p.in_flight, failed,
                                 static_cast<double>(p.num_chunks) / std::max(p.elapsed_s, 1e-3),
                                 p.elapsed_s));
    };
    report_.runs.push_back(bench::run_load(target, phase, source(phase.number), watch));
    report_.phases.push_back(bench::summarize(phase, report_.runs.back(), report_.slo));
  }

  const Flags& flags_;
  const std::stop_token stop_;
  ProgressLine progress_;
  bench::WorkloadOptions shape_;
  std::vector<bench::TraceEntry> trace_;
  bench::Probe probe_;
  bench::LoadReport report_;
};

base::Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::error(ErrorCode::io, "--report: cannot write {}", path);
  return base::ok();
}

void print_report(const Flags& flags, const bench::LoadReport& report, Outcome& outcome) {
  if (flags.json)
    fmt::print("{}\n", boost::json::serialize(bench::load_json(report)));
  else
    fmt::print("{}", bench::load_table(report));
  if (!flags.report.empty()) {
    if (const auto written = write_file(flags.report, bench::load_html(report)); !written.ok())
      return app::report(outcome, written.error());
    fmt::print(stderr, "Report: {}\n", flags.report);
  }
  for (const bench::PhaseSummary& phase : report.phases)
    if (phase.num_ok == 0) outcome.status = kFailure;
}

void bench_serve(Flags& flags, Outcome& outcome) {
  flags.target.endpoint =
      flags.endpoint == "completions" ? bench::Endpoint::completions : bench::Endpoint::chat;
  std::stop_source stop;
  const SignalWatch watch({SIGINT, SIGTERM}, [&](int) { stop.request_stop(); });
  const auto report = Session(flags, stop.get_token()).run();
  if (!report.ok()) {
    const bool usage = report.error().code == ErrorCode::invalid_argument;
    return usage ? report_usage(outcome, report.error()) : app::report(outcome, report.error());
  }
  print_report(flags, *report, outcome);
  if (stop.stop_requested()) outcome.status = kInterrupted;
}

void add_target_flags(CLI::App& command, Flags& flags) {
  command.add_option("--url", flags.target.url, "Address of the server, with or without /v1")
      ->type_name("URL")
      ->envname("KVASIR_URL")
      ->default_val("http://127.0.0.1:8080");
  command
      .add_option("--model", flags.target.model, "Model to ask (default: the first that the server lists)")
      ->type_name("NAME");
  command.add_option("--api-key", flags.target.api_key, "Key for a server that wants one")
      ->type_name("KEY")
      ->envname("KVASIR_API_KEY");
  command.add_option("--endpoint", flags.endpoint, "/v1/chat/completions or /v1/completions")
      ->check(CLI::IsMember({"chat", "completions"}))
      ->type_name("chat|completions")
      ->capture_default_str();
  command.add_option("--temperature", flags.target.temperature, "0: always the likeliest token")
      ->type_name("T")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command.add_option("--timeout", flags.target.timeout_s, "Seconds that one request may take")
      ->type_name("S")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
}

void add_load_flags(CLI::App& command, Flags& flags) {
  command
      .add_option("--concurrency", flags.concurrency,
                  "Closed loop: so many clients, each sending its next request when its last is answered; "
                  "several values are measured one after the other (default: 1,8)")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  command
      .add_option("--rate", flags.rate,
                  "Open loop: Poisson arrivals, so many requests a second, whether the server keeps up or "
                  "not; latency counts from the arrival")
      ->type_name("R,...")
      ->delimiter(',')
      ->check(CLI::Range(1e-3, 1e5));
  command
      .add_option("--requests", flags.num_requests,
                  "Requests of each phase (default: four for each client, at least 16)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000000));
  command
      .add_option("--duration", flags.duration_s,
                  "Seconds of each phase: none starts later, and rates count what came by then")
      ->type_name("S")
      ->check(CLI::Range(0.1, 86400.0 * 30));
  command
      .add_option("--warmup", flags.warmup, "Requests before each phase that do not count (default: up to 4)")
      ->type_name("N")
      ->check(CLI::Range(0, 1000000));
  command.add_option("--seed", flags.seed, "Of prompts and arrivals (default: another each time)")
      ->type_name("N");
}

void add_workload_flags(CLI::App& command, Flags& flags) {
  bench::WorkloadOptions& shape = flags.shape;
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
  command.add_option("--speed", flags.speed, "Replay a trace's times so many times as fast")
      ->type_name("X")
      ->check(CLI::Range(1e-3, 1e6))
      ->capture_default_str();
}

void add_report_flags(CLI::App& command, Flags& flags) {
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
  auto flags = std::make_shared<Flags>();
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

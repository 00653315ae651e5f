#include "app/bench_load_flags.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <fstream>
#include <random>

#include "app/say.h"

namespace kvasir::app {

namespace {

using base::ErrorCode;

// Delays that people do not notice. Workloads with people-like lengths use them for goodput.
constexpr bench::Slo kWantedSlo{.ttft_s = 0.5, .tpot_s = 0.05};

std::optional<double> in_seconds(const std::optional<double>& ms) {
  if (!ms) return std::nullopt;
  return *ms / 1000;
}

base::Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return base::error(ErrorCode::io, "--report: cannot write {}", path);
  return base::ok();
}

bool is_like_people(bench::WorkloadKind kind) {
  using bench::WorkloadKind;
  return kind == WorkloadKind::mixed || kind == WorkloadKind::burst || kind == WorkloadKind::prefix ||
         kind == WorkloadKind::long_one;
}

}  // namespace

base::Status settle_load(LoadFlags& flags) {
  bench::SessionOptions& session = flags.session;
  if (!session.concurrency.empty() && !session.rates.empty())
    return base::error(ErrorCode::invalid_argument, "--rate: not together with --concurrency");
  TRY(session.shape.kind, bench::parse_workload(flags.workload));
  session.workload = flags.workload;
  session.shape.seed = flags.seed ? *flags.seed : std::random_device()();
  session.slo = {in_seconds(flags.slo_ttft_ms), in_seconds(flags.slo_tpot_ms)};
  if (!session.slo.any() && is_like_people(session.shape.kind)) session.slo = kWantedSlo;
  return base::ok();
}

void print_load_report(const LoadFlags& flags, const bench::LoadReport& report, Outcome& outcome) {
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

void add_load_flags(CLI::App& command, LoadFlags& flags) {
  command
      .add_option("--concurrency", flags.session.concurrency,
                  "Closed loop: so many clients, each sending its next request when its last is answered; "
                  "several values are measured one after the other (default: 1,8)")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000));
  command
      .add_option("--rate,--rates", flags.session.rates,
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

void add_workload_flags(CLI::App& command, LoadFlags& flags) {
  bench::WorkloadOptions& shape = flags.session.shape;
  const auto tokens = [&](const char* name, int& into, const char* help) {
    command.add_option(name, into, help)
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
  };
  command
      .add_option("--workload", flags.workload,
                  "mixed, burst, prefix, long, chat, shared-prefix, multi-turn or long-prompt; see below")
      ->type_name("NAME")
      ->check(CLI::IsMember(
          {"mixed", "burst", "prefix", "long", "chat", "shared-prefix", "multi-turn", "long-prompt"}))
      ->capture_default_str();
  tokens("--input-tokens", shape.input_tokens, "Tokens of each user message, the template's included");
  tokens("--output-tokens", shape.output_tokens, "Tokens of each answer");
  command
      .add_option("--vary", shape.vary,
                  "Vary both lengths by this share, evenly: 0.5 is half to one and a half")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option(
          "--spread", shape.spread,
          "mixed and its kin: spread of the logarithm of both lengths, whose medians are the ones above")
      ->type_name("SIGMA")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  tokens("--burst", shape.burst, "burst: requests that arrive at the same time");
  tokens("--prefix-tokens", shape.prefix_tokens, "prefix, shared-prefix: tokens of the system message");
  tokens("--prefix-groups", shape.prefix_groups, "prefix, shared-prefix: different system messages");
  tokens("--turns", shape.turns, "multi-turn: messages of each conversation");
  tokens("--long-tokens", shape.long_tokens, "long, long-prompt: tokens of a long prompt");
  tokens("--long-every", shape.long_every,
         "long-prompt: one prompt in so many is long; long: this one alone");
}

void add_report_flags(CLI::App& command, LoadFlags& flags) {
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

}  // namespace kvasir::app

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/load_report.h"

namespace kvasir::bench {

namespace {

// Returns a time with about three significant digits, in milliseconds or seconds.
std::string time_text(double s) {
  if (s >= 100) return fmt::format("{:.0f} s", s);
  if (s >= 1) return fmt::format("{:.2f} s", s);
  if (s >= 0.1) return fmt::format("{:.0f} ms", s * 1e3);
  return fmt::format("{:.1f} ms", s * 1e3);
}

std::string triple(const Distribution& d) {
  if (d.count == 0) return "-";
  return fmt::format("{} / {} / {}", time_text(d.p50), time_text(d.p95), time_text(d.p99));
}

void add_row(std::string& text, std::string_view name, const std::vector<std::string>& cells) {
  text += fmt::format("{:<22}", name);
  for (const std::string& cell : cells) text += fmt::format("  {:>28}", cell);
  text += '\n';
}

template <class Cell>
void add_row_of(std::string& text, std::string_view name, const LoadReport& report, Cell cell) {
  std::vector<std::string> cells;
  for (const PhaseSummary& phase : report.phases) cells.push_back(cell(phase));
  add_row(text, name, cells);
}

std::string goodput(const PhaseSummary& p) {
  const double share = p.num_requests > 0 ? 100.0 * p.num_good / p.num_requests : 0;
  return fmt::format("{:.2f}/s ({:.0f} %)", p.goodput_per_s, share);
}

void add_failures(std::string& text, const LoadReport& report) {
  for (const PhaseSummary& phase : report.phases)
    for (const auto& [kind, failure] : phase.failures)
      text += fmt::format("{}: {} failed: {} ({})\n", phase.label(), failure.count, kind, failure.example);
}

void add_client(std::string& text, const LoadReport& report) {
  double share = 0;
  double lag_s = 0;
  bool by_chunks = false;
  for (const PhaseSummary& phase : report.phases) {
    share = std::max(share, phase.client_cpu_share);
    lag_s = std::max(lag_s, phase.client_worst_lag_s);
    by_chunks = by_chunks || phase.token_source != TokenSource::usage;
  }
  text +=
      fmt::format("The load generator used at most {:.0f} % of a core; its loop was late by at most {}.\n",
                  100 * share, time_text(lag_s));
  text += by_chunks ? "Output tokens: chunks, where the server sent no usage.\n"
                    : "Output tokens: as the server's usage says.\n";
}

}  // namespace

std::string load_table(const LoadReport& report) {
  std::string text =
      fmt::format("{} by {} of {}: {}, {} tokens in, {} out, seed {}\n", report.model, report.endpoint,
                  report.url, report.workload, report.input_tokens, report.output_tokens, report.seed);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  text += '\n';
  using P = PhaseSummary;
  add_row_of(text, "", report, [](const P& p) { return p.label(); });
  add_row_of(text, "requests (failed)", report,
             [](const P& p) { return fmt::format("{} ({})", p.num_requests, p.num_requests - p.num_ok); });
  add_row_of(text, "time", report, [](const P& p) { return time_text(p.window_s); });
  add_row_of(text, "output tokens/s", report,
             [](const P& p) { return fmt::format("{:.1f}", p.output_tokens_per_s); });
  add_row_of(text, "requests/s", report, [](const P& p) { return fmt::format("{:.2f}", p.requests_per_s); });
  add_row_of(text, "TTFT p50/p95/p99", report, [](const P& p) { return triple(p.ttft_s); });
  add_row_of(text, "TPOT p50/p95/p99", report, [](const P& p) { return triple(p.tpot_s); });
  add_row_of(text, "ITL p50/p95/p99", report, [](const P& p) { return triple(p.itl_s); });
  add_row_of(text, "longest gap", report, [](const P& p) { return time_text(p.longest_gap_s); });
  add_row_of(text, "latency p50/p95/p99", report, [](const P& p) { return triple(p.latency_s); });
  if (report.slo.any()) add_row_of(text, "goodput", report, goodput);
  add_row_of(text, "tokens in (cached)", report,
             [](const P& p) { return fmt::format("{} ({})", p.prompt_tokens, p.cached_tokens); });
  add_row_of(text, "tokens out", report, [](const P& p) { return fmt::format("{}", p.output_tokens); });
  add_row_of(text, "most in flight", report, [](const P& p) { return fmt::format("{}", p.peak_in_flight); });
  text += '\n';
  add_failures(text, report);
  add_client(text, report);
  return text;
}

}  // namespace kvasir::bench

#include <boost/json.hpp>

#include "bench/load_report.h"

namespace kvasir::bench {

namespace json = boost::json;

namespace {

// Returns a distribution of seconds in milliseconds.
json::object times(const Distribution& d) {
  return {{"count", d.count},   {"mean", d.mean * 1e3}, {"min", d.min * 1e3}, {"p50", d.p50 * 1e3},
          {"p90", d.p90 * 1e3}, {"p95", d.p95 * 1e3},   {"p99", d.p99 * 1e3}, {"max", d.max * 1e3}};
}

std::string_view name_of(TokenSource source) {
  switch (source) {
    case TokenSource::usage:
      return "usage";
    case TokenSource::chunks:
      return "chunks";
    case TokenSource::both:
      return "both";
  }
  return "?";
}

json::value milliseconds(const std::optional<double>& s) {
  return s ? json::value(*s * 1e3) : json::value(nullptr);
}

json::object phase_json(const PhaseSummary& p) {
  json::object failures;
  for (const auto& [kind, failure] : p.failures)
    failures[kind] = {{"count", failure.count}, {"example", failure.example}};
  json::object object{{"label", p.label()}};
  if (p.concurrency > 0) object["concurrency"] = p.concurrency;
  if (p.rate > 0) object["rate"] = p.rate;
  object["window_s"] = p.window_s;
  object["requests"] = p.num_requests;
  object["ok"] = p.num_ok;
  object["failed"] = p.num_requests - p.num_ok;
  object["failures"] = std::move(failures);
  object["prompt_tokens"] = p.prompt_tokens;
  object["cached_tokens"] = p.cached_tokens;
  object["output_tokens"] = p.output_tokens;
  object["token_source"] = name_of(p.token_source);
  object["output_tokens_per_s"] = p.output_tokens_per_s;
  object["requests_per_s"] = p.requests_per_s;
  object["good"] = p.num_good;
  object["goodput_per_s"] = p.goodput_per_s;
  object["ttft_ms"] = times(p.ttft_s);
  object["tpot_ms"] = times(p.tpot_s);
  object["itl_ms"] = times(p.itl_s);
  object["latency_ms"] = times(p.latency_s);
  object["longest_gap_ms"] = p.longest_gap_s * 1e3;
  object["peak_in_flight"] = p.peak_in_flight;
  object["client"] = {{"cpu_share", p.client_cpu_share}, {"worst_lag_ms", p.client_worst_lag_s * 1e3}};
  object["interrupted"] = p.interrupted;
  return object;
}

}  // namespace

json::object load_json(const LoadReport& report) {
  json::array notes(report.notes.begin(), report.notes.end());
  json::array phases;
  for (const PhaseSummary& phase : report.phases) phases.push_back(phase_json(phase));
  return {{"started", report.started},
          {"url", report.url},
          {"endpoint", report.endpoint},
          {"model", report.model},
          {"workload", report.workload},
          {"input_tokens", report.input_tokens},
          {"output_tokens", report.output_tokens},
          {"seed", report.seed},
          {"slo_ttft_ms", milliseconds(report.slo.ttft_s)},
          {"slo_tpot_ms", milliseconds(report.slo.tpot_s)},
          {"notes", std::move(notes)},
          {"phases", std::move(phases)}};
}

}  // namespace kvasir::bench

#include "bench/load_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kvasir::bench {

bool Slo::met_by(const RequestRecord& record) const {
  return record.ok() && (!ttft_s || record.ttft_s() <= *ttft_s) && (!tpot_s || record.tpot_s() <= *tpot_s);
}

std::string PhaseSummary::label() const {
  if (concurrency > 0) return fmt::format("{} client{}", concurrency, concurrency == 1 ? "" : "s");
  if (rate > 0) return fmt::format("{:g} req/s", rate);
  return "trace";
}

namespace {

// Returns how many tokens of a record arrived within the window, assuming that all chunks have equally many
// tokens.
double tokens_within(const RequestRecord& record, double window_s) {
  if (record.chunks_s.empty()) return 0;
  const auto within = std::upper_bound(record.chunks_s.begin(), record.chunks_s.end(), window_s);
  const double share =
      static_cast<double>(within - record.chunks_s.begin()) / static_cast<double>(record.chunks_s.size());
  return share * record.output_tokens;
}

// The latencies of successful requests.
struct Samples {
  std::vector<double> ttft_s, tpot_s, itl_s, latency_s;

  void add(const RequestRecord& record) {
    ttft_s.push_back(record.ttft_s());
    latency_s.push_back(record.latency_s());
    if (record.output_tokens > 1) tpot_s.push_back(record.tpot_s());
    for (std::size_t i = 1; i < record.chunks_s.size(); ++i)
      itl_s.push_back(record.chunks_s[i] - record.chunks_s[i - 1]);
  }
};

TokenSource source_of(int num_counted, int num_ok) {
  if (num_counted == num_ok) return TokenSource::usage;
  return num_counted == 0 ? TokenSource::chunks : TokenSource::both;
}

}  // namespace

PhaseSummary summarize(const LoadPhase& phase, const PhaseRun& run, const Slo& slo) {
  PhaseSummary summary{.concurrency = phase.concurrency, .rate = phase.rate, .window_s = run.window_s};
  Samples samples;
  double tokens = 0;
  int num_ended_within = 0;
  int num_good_within = 0;
  int num_counted = 0;
  for (const RequestRecord& record : run.records) {
    ++summary.num_requests;
    tokens += tokens_within(record, run.window_s);
    if (!record.ok()) {
      FailureCount& failure = summary.failures[kind_of(record)];
      if (failure.count++ == 0) failure.example = record.message;
      continue;
    }
    ++summary.num_ok;
    num_counted += record.counted ? 1 : 0;
    samples.add(record);
    summary.prompt_tokens += record.prompt_tokens;
    summary.cached_tokens += record.cached_tokens;
    summary.output_tokens += record.output_tokens;
    const bool within = record.end_s <= run.window_s;
    const bool good = slo.met_by(record);
    num_ended_within += within ? 1 : 0;
    summary.num_good += good ? 1 : 0;
    num_good_within += good && within ? 1 : 0;
  }
  summary.ttft_s = describe(std::move(samples.ttft_s));
  summary.tpot_s = describe(std::move(samples.tpot_s));
  summary.itl_s = describe(std::move(samples.itl_s));
  summary.latency_s = describe(std::move(samples.latency_s));
  summary.longest_gap_s = summary.itl_s.max;
  if (run.window_s > 0) {
    summary.output_tokens_per_s = tokens / run.window_s;
    summary.requests_per_s = num_ended_within / run.window_s;
    summary.goodput_per_s = num_good_within / run.window_s;
  }
  summary.token_source = source_of(num_counted, summary.num_ok);
  summary.peak_in_flight = run.peak_in_flight;
  summary.client_cpu_share = run.client_cpu_share;
  summary.client_worst_lag_s = run.client_worst_lag_s;
  summary.interrupted = run.interrupted;
  return summary;
}

}  // namespace kvasir::bench

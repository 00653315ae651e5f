#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/load_generator.h"
#include "bench/statistics.h"

namespace kvasir::bench {

// The limits that the latencies of a good request must meet. Absent: no limit.
struct Slo {
  std::optional<double> ttft_s;
  std::optional<double> tpot_s;

  bool any() const { return ttft_s || tpot_s; }
  bool met_by(const RequestRecord& record) const;
};

struct FailureCount {
  int count = 0;
  std::string example;  // the first message of this kind
};

// How the output tokens were counted: by the server's usage or by chunks.
enum class TokenSource { usage, chunks, both };

struct PhaseSummary {
  int concurrency = 0;  // of a closed loop
  double rate = 0;      // of an open loop, as requested; 0: a trace's times
  double window_s = 0;
  int num_requests = 0;
  int num_ok = 0;
  std::map<std::string, FailureCount> failures;  // by kind
  Distribution ttft_s;
  Distribution tpot_s;
  Distribution itl_s;      // gaps between chunks of one stream
  Distribution latency_s;  // from the arrival to the last token
  double longest_gap_s = 0;
  std::int64_t prompt_tokens = 0;  // of successful requests, as the two counts below
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  double output_tokens_per_s = 0;  // tokens that arrived within the window, also of failed requests
  double requests_per_s = 0;       // requests that succeeded within the window
  int num_good = 0;
  double goodput_per_s = 0;  // requests within the window that met the SLO
  TokenSource token_source = TokenSource::usage;
  int peak_in_flight = 0;
  double client_cpu_share = 0;
  double client_worst_lag_s = 0;
  bool interrupted = false;

  std::string label() const;  // "8 clients", "2.5 requests/s", "trace"
};

PhaseSummary summarize(const LoadPhase& phase, const PhaseRun& run, const Slo& slo);

}  // namespace kvasir::bench

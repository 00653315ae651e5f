#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/load_report.h"
#include "bench/target.h"
#include "bench/trace.h"
#include "bench/workload.h"

namespace kvasir::bench {

// The options of `kvasir bench serve`.
struct SessionOptions {
  TargetOptions target;
  WorkloadOptions shape;
  std::vector<TraceEntry> trace;  // used instead of `shape` if not empty
  std::string workload;           // the load's name in the report
  double speed = 1;               // factor for the times of a trace
  std::vector<int> concurrency;   // one phase for each
  std::vector<double> rates;      // one phase for each
  int num_requests = 0;           // per phase; 0: as the duration or the load says
  double duration_s = 0;          // per phase; 0: no limit
  int num_warmups = -1;           // before each phase; -1: a few
  Slo slo;
};

// Returns the phases of a session: one for each concurrency and rate, or one for a trace with its own times.
std::vector<LoadPhase> plan_phases(const SessionOptions& options);

// Probes the server, then runs each phase after its warm-up. If `stop` is requested, the report has the
// results up to then. `on_progress` gets a line from time to time, on the calling thread.
base::Result<LoadReport> run_session(const SessionOptions& options,
                                     const std::function<void(std::string_view)>& on_progress,
                                     std::stop_token stop);

}  // namespace kvasir::bench

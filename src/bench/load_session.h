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

// What is asked of one `kvasir bench serve`.
struct SessionOptions {
  TargetOptions target;
  WorkloadOptions shape;
  std::vector<TraceEntry> trace;  // in place of `shape` where there is one
  std::string workload;           // what the report calls either
  double speed = 1;               // of a trace's times
  std::vector<int> concurrency;   // a phase each
  std::vector<double> rates;      // a phase each
  int num_requests = 0;           // of each phase; 0: by the time, or by the load
  double duration_s = 0;          // of each phase; 0: no limit
  int num_warmups = -1;           // before each phase; -1: a few
  Slo slo;
};

// The phases of a session: one for each concurrency and rate, or one for a trace that has its own times.
std::vector<LoadPhase> plan_phases(const SessionOptions& options);

// Probes the server, then runs each phase after its warm-up. Once `stop` is requested the report holds what
// there is until then. `on_progress` hears a line now and then, on the calling thread.
base::Result<LoadReport> run_session(const SessionOptions& options,
                                     const std::function<void(std::string_view)>& on_progress,
                                     std::stop_token stop);

}  // namespace kvasir::bench

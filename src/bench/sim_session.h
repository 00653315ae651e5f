#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bench/load_report.h"
#include "bench/load_session.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"

namespace kvasir::bench {

// The options of `kvasir bench sim`.
struct SimOptions {
  SessionOptions session;  // the load; its target is ignored
  std::string device;      // its name in the report
  sim::DeviceCosts costs;
  sched::SchedulerOptions scheduler;  // with the requested SLOs; 0: what the device can reach
  int template_tokens = 0;            // template tokens at the beginning of every prompt
  double client_s = 0.002;            // between an answer and the client's next request
  bool admits_by_goodput = false;     // refuses requests that would be late, as `serve` does for tier `free`
};

// Runs the same phases as `bench serve` with a real scheduler on a modelled device and a virtual clock. The
// report shows what clients would have seen. Its goodput uses the scheduler's SLOs, unless others are given.
base::Result<LoadReport> run_sim(const SimOptions& options);

}  // namespace kvasir::bench

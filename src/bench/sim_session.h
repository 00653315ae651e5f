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
  std::string device;      // the device's name in the report
  sim::DeviceCosts costs;
  sched::SchedulerOptions scheduler;  // with the requested SLOs; 0: what the device can reach
  int template_tokens = 0;            // tokens of the template at the beginning of every prompt
  double client_s = 0.002;            // time between an answer and the client's next request
  // Above 0: simulates a fleet behind a router. The load must be closed loops of talks, and `client_s` is how
  // long users think.
  int num_workers = 0;
  int num_gateways = 1;
  std::string route = "cache";     // a router::Policy
  double report_every_s = 0;       // see sim::FleetOptions
  bool admits_by_goodput = false;  // refuses requests that would be late, as `serve` does for tier `free`
};

// Runs the same phases as `bench serve` with a real scheduler on a modelled device and a virtual clock. The
// report shows what clients would have seen. Its goodput uses the scheduler's SLOs, unless others are given.
base::Result<LoadReport> run_sim(const SimOptions& options);

}  // namespace kvasir::bench

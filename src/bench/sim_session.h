#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "bench/load_report.h"
#include "bench/load_session.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"

namespace kvasir::bench {

// What is asked of one `kvasir bench sim`.
struct SimOptions {
  SessionOptions session;  // its load; nothing of its target is used
  std::string device;      // what the report calls it
  sim::DeviceCosts costs;
  sched::SchedulerOptions scheduler;  // with the SLOs that were asked for; 0: what the device can reach
  int template_tokens = 0;            // that every prompt begins with
  double client_s = 0.002;            // between an answer and the client's next request
};

// The same phases as `bench serve`, with a real scheduler on a modelled device and a virtual clock. The
// report is what clients would have seen; its goodput is at the SLOs of the scheduler, unless others were
// given.
base::Result<LoadReport> run_sim(const SimOptions& options);

}  // namespace kvasir::bench

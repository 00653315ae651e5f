#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"

namespace kvasir::sim {

struct SimRequest {
  std::vector<TokenId> prompt;
  int output_tokens = 1;
};

// In a closed loop, each of `concurrency` clients sends its next request when its last one is answered. In an
// open loop (concurrency 0), requests come at `arrivals_s`.
struct SimLoad {
  int concurrency = 0;
  std::vector<double> arrivals_s;  // ascending
  int num_requests = 0;            // total; 0: as many as the time or the arrivals allow
  double duration_s = 0;           // no request starts later; 0: no limit
  enum class Forecasts { none, made, refuse };
  // Whether each request is forecast when it arrives; `refuse`: late ones are refused, as by `serve`.
  Forecasts forecasts = Forecasts::none;
  double client_s = 0;  // time from an answer until the scheduler sees the client's next request
  std::function<SimRequest(std::uint64_t index)> request;
};

struct SimRecord {
  double arrived_s = 0;
  int prompt_tokens = 0;
  int cached_tokens = 0;
  double predicted_s = 0;        // time from its arrival to its first token; 0: not forecast
  std::vector<double> tokens_s;  // arrival times of the answer's tokens
};

struct SimRun {
  std::vector<SimRecord> records;  // in the order in which they ended
  double end_s = 0;
  int peak_in_flight = 0;
  int num_refused = 0;   // requests that did not fit into the KV cache
  int num_overload = 0;  // requests refused because of their forecast
  sched::SchedulerStats stats;
};

// Runs a real Scheduler on a modelled device with a virtual clock until every request is answered.
SimRun simulate(const sched::SchedulerOptions& options, const DeviceCosts& costs, const SimLoad& load,
                std::uint64_t seed);

}  // namespace kvasir::sim

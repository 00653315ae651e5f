#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "bench/request_record.h"
#include "bench/target.h"
#include "bench/workload.h"

namespace kvasir::bench {

// One load. Closed loop: `concurrency` clients, each of which sends its next request when the last one is
// answered. Open loop (concurrency 0): requests arrive by `rate` (Poisson) or at `arrivals_s`, whether or not
// the server keeps up; latency counts from the arrival, not from the moment of sending.
struct LoadPhase {
  int number = 0;  // phases have different prompts
  int concurrency = 0;
  double rate = 0;                 // requests per second
  int burst = 1;                   // requests that arrive together, with `rate`
  std::vector<double> arrivals_s;  // ascending; used if rate is 0
  int num_requests = 0;            // 0: as many as the time allows
  double duration_s = 0;           // no request starts later; 0: no limit
  double timeout_s = 300;          // per request
  std::uint64_t seed = 0;          // for the arrivals
};

struct LoadProgress {
  double elapsed_s = 0;
  int num_done = 0;
  int num_failed = 0;  // of the finished ones
  int in_flight = 0;
  std::int64_t num_chunks = 0;
};

struct LoadWatch {
  std::function<void(const LoadProgress&)> on_progress = [](const LoadProgress&) {};  // now and then
  std::stop_token stop;  // aborts running requests, which then do not count
};

// The results of a phase, and how much the client itself limited it.
struct PhaseRun {
  std::vector<RequestRecord> records;  // in the order of their end
  double window_s = 0;  // time over which rates are computed: the duration, or until the last end
  int peak_in_flight = 0;
  double client_cpu_share = 0;    // as a part of one core
  double client_worst_lag_s = 0;  // largest delay of a timer in the client's loop
  bool interrupted = false;
};

// Returns conversation number `index`. Called on the thread that runs the load.
using ConversationSource = std::function<Conversation(std::uint64_t index)>;

// Runs a phase on the calling thread, with all connections on one io_context.
PhaseRun run_load(const Target& target, const LoadPhase& phase, const ConversationSource& source,
                  const LoadWatch& watch);

}  // namespace kvasir::bench

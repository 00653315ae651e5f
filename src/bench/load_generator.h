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

// One load. In a closed loop, each of `concurrency` clients sends its next request when its last one is
// answered. In an open loop (concurrency 0), requests arrive by `rate` (Poisson) or at `arrivals_s`, whether
// or not the server keeps up; latency counts from the arrival, not from the moment of sending.
struct LoadPhase {
  int number = 0;  // phases with different numbers have different prompts
  int concurrency = 0;
  double rate = 0;                 // requests per second
  int burst = 1;                   // with `rate`: requests that arrive together
  std::vector<double> arrivals_s;  // ascending; used if rate is 0
  int num_requests = 0;            // 0: as many as the time allows
  double duration_s = 0;           // no request starts later; 0: no limit
  double timeout_s = 300;          // per request
  std::uint64_t seed = 0;          // for the arrivals
};

struct LoadProgress {
  double elapsed_s = 0;
  int num_done = 0;
  int num_failed = 0;  // how many of `num_done` failed
  int in_flight = 0;
  std::int64_t num_chunks = 0;
};

struct LoadWatch {
  std::function<void(const LoadProgress&)> on_progress = [](const LoadProgress&) {};  // called now and then
  std::stop_token stop;  // aborts running requests, which do not count then
};

// The results of a phase, and how much the client itself limited it.
struct PhaseRun {
  std::vector<RequestRecord> records;  // in the order in which the requests ended
  double window_s = 0;  // rates are over this time: the duration, or until the last request ends
  int peak_in_flight = 0;
  double client_cpu_share = 0;    // as a fraction of one core
  double client_worst_lag_s = 0;  // largest delay of a timer in the client's loop
  bool interrupted = false;
};

// Returns conversation number `index`. Called on the thread that runs the load.
using ConversationSource = std::function<Conversation(std::uint64_t index)>;

// Runs a phase on the calling thread, with all connections on one io_context.
PhaseRun run_load(const Target& target, const LoadPhase& phase, const ConversationSource& source,
                  const LoadWatch& watch);

}  // namespace kvasir::bench

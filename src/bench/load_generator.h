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

// One load. Closed loop: `concurrency` clients, each of which sends its next request when its last one is
// answered. Open loop (concurrency 0): requests arrive when they arrive, whether the server keeps up or not,
// by `rate` (Poisson) or at `arrivals_s`; latency counts from the arrival, not from when the client got round
// to it.
struct LoadPhase {
  int number = 0;  // prompts of different phases differ
  int concurrency = 0;
  double rate = 0;                 // a second
  int burst = 1;                   // requests that arrive at the same time, by rate
  std::vector<double> arrivals_s;  // ascending; used where rate is 0
  int num_requests = 0;            // 0: as many as the time allows
  double duration_s = 0;           // no request starts later; 0: no limit
  double timeout_s = 300;          // of one request
  std::uint64_t seed = 0;          // of the arrivals
};

struct LoadProgress {
  double elapsed_s = 0;
  int num_done = 0;
  int num_failed = 0;  // of those
  int in_flight = 0;
  std::int64_t num_chunks = 0;
};

struct LoadWatch {
  std::function<void(const LoadProgress&)> on_progress = [](const LoadProgress&) {};  // now and then
  std::stop_token stop;  // aborts what is under way, which then does not count
};

// What a phase brought, and how much the client itself was in the way.
struct PhaseRun {
  std::vector<RequestRecord> records;  // in order of their end
  double window_s = 0;                 // what rates are over: the duration, or until the last end
  int peak_in_flight = 0;
  double client_cpu_share = 0;    // of one core
  double client_worst_lag_s = 0;  // a timer of the client's loop was late by at most so much
  bool interrupted = false;
};

// Conversation number `index`; called on the thread that runs the load.
using ConversationSource = std::function<Conversation(std::uint64_t index)>;

// Runs a phase on the calling thread: all connections on one io_context.
PhaseRun run_load(const Target& target, const LoadPhase& phase, const ConversationSource& source,
                  const LoadWatch& watch);

}  // namespace kvasir::bench

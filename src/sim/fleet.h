#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sched/scheduler.h"
#include "sim/modelled_device.h"
#include "sim/simulation.h"

namespace kvasir::sim {

// One user's talk. Each turn's prompt is all that was said before and the turn's own tokens.
struct FleetTalk {
  struct Turn {
    std::vector<TokenId> tokens;
    int output_tokens = 1;
  };
  std::vector<TokenId> opening;  // the system prompt
  std::vector<Turn> turns;
};

// Users who talk, one talk after another, and think before each turn.
struct FleetLoad {
  int num_users = 1;
  int num_requests = 0;    // that begin in all
  double think_s = 0;      // on average; the first turns come spread over as long, and a second more
  std::uint64_t seed = 0;  // of the thinking
  std::function<FleetTalk(std::uint64_t index)> talk;
};

struct FleetOptions {
  int num_workers = 4;
  int num_gateways = 1;  // each knows only what it has sent itself and what workers report
  std::string policy = "cache";
  double report_every_s = 0;  // reports and blocks reach a gateway so often; 0: at once
  sched::SchedulerOptions scheduler;
  DeviceCosts costs;
};

struct FleetRun {
  SimRun all;                          // of all workers together
  std::vector<std::int64_t> requests;  // by worker
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_cached_tokens = 0;  // of those
};

// Runs real pools with their policies and block indices over modelled workers, on a virtual clock, until
// every request is answered. Streams of requests go through the gateways at random.
FleetRun simulate_fleet(const FleetOptions& options, const FleetLoad& load, std::uint64_t seed);

}  // namespace kvasir::sim

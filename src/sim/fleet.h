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

// One user's talk. The prompt of a turn is everything said before and the turn's own tokens.
struct FleetTalk {
  struct Turn {
    std::vector<TokenId> tokens;
    int output_tokens = 1;
  };
  std::vector<TokenId> opening;  // the system prompt
  std::vector<Turn> turns;
};

// Users who hold one talk after another and think before each turn.
struct FleetLoad {
  int num_users = 1;
  int num_requests = 0;    // total number of requests to begin
  double think_s = 0;      // mean; the first turns are spread over this time and one more second
  std::uint64_t seed = 0;  // for the times to think
  std::function<FleetTalk(std::uint64_t index)> talk;
};

struct FleetOptions {
  int num_workers = 4;
  int num_gateways = 1;  // each knows only its own requests and what workers report
  std::string policy = "cache";
  double report_every_s = 0;  // time between reports of a worker to a gateway; 0: always up to date
  sched::SchedulerOptions scheduler;
  DeviceCosts costs;
};

struct FleetRun {
  SimRun all;                          // all workers together
  std::vector<std::int64_t> requests;  // by worker
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_cached_tokens = 0;  // part of the prompt tokens
};

// Runs real pools with their policies and block indices over modelled workers, on a virtual clock, until
// every request is answered. Each request goes through a random gateway.
FleetRun simulate_fleet(const FleetOptions& options, const FleetLoad& load, std::uint64_t seed);

}  // namespace kvasir::sim

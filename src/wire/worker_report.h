#pragma once

#include <map>
#include <memory>
#include <vector>

#include "wire/kv_link.h"

namespace kvasir::wire {

// A worker's state for its callers: for the router, for /v1/models and for /metrics.
struct WorkerReport {
  int num_blocks = 0;
  int num_free_blocks = 0;    // free or holding only cached prefixes
  int num_cached_blocks = 0;  // of the free ones, those that hold a reusable prefix
  int num_running = 0;
  int num_waiting = 0;
  std::map<int, int> waiting = {};  // the same, by priority
  bool progressing = true;          // a step ended lately, or there is nothing to do
  bool failed = false;              // its device has failed: it computes nothing any more
  double heartbeat_age_s = 0;       // since it last ended a step; 0 if there is nothing to do
  // The workers that have computed prompts for it. Null: it has told nothing of them.
  std::shared_ptr<const std::vector<KvLink>> kv_links = nullptr;
};

}  // namespace kvasir::wire

#pragma once

#include <map>
#include <memory>
#include <vector>

#include "kv/block.h"
#include "wire/kv_link.h"

namespace kvasir::wire {

// A prompt with fewer tokens left to compute is not worth a second worker. Other prompts are called long.
inline constexpr int kLeastLongPrompt = 4 * kv::kBlockTokens;

// A worker's state, for the router, /v1/models and /metrics.
struct WorkerReport {
  int num_blocks = 0;
  int num_free_blocks = 0;    // free or holding only cached prefixes
  int num_cached_blocks = 0;  // free blocks that hold a reusable prefix
  int num_running = 0;
  int num_waiting = 0;
  std::map<int, int> waiting = {};  // num_waiting by priority
  bool progressing = true;          // a step ended lately, or there is nothing to do
  bool failed = false;              // its device has failed, so it computes nothing any more
  double heartbeat_age_s = 0;       // time since its last step ended; 0 if there is nothing to do
  // Seconds since the worker's start: in all steps, and for long prompts.
  double busy_s = 0;
  double long_prompts_s = 0;
  // The workers that have computed prompts for it. Null: it has reported none.
  std::shared_ptr<const std::vector<KvLink>> kv_links = nullptr;
};

}  // namespace kvasir::wire

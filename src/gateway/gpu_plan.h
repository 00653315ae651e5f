#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::gateway {

// What a model on a GPU says of itself once its weights are there.
struct KvDemand {
  std::string model;
  std::int64_t bytes_per_block = 0;
  int context_blocks = 0;  // for one sequence of the longest context
  double share = 1;        // of what is left, beside the others'
};

enum class ContextIs {
  asked_for,    // a model that cannot have it is an error
  as_it_comes,  // it is cut where there is not enough
};

// Blocks for each model out of `free_bytes`, which all weights and scratch have left: a tenth stays free, and
// the rest goes by shares, but a model gets one full context before others get more than their share allows.
// An error names what is needed and what is there.
base::Result<std::vector<int>> divide_kv(std::int64_t free_bytes, std::span<const KvDemand> demands,
                                         ContextIs context);

// NAME=NUMBER each, of models that are served.
base::Result<std::map<std::string, double>> parse_shares(const std::vector<std::string>& shares,
                                                         const std::vector<std::string>& models);

// The meeting of a process's models that share a GPU: KV is divided once all their weights are there.
// Thread-safe.
class GpuPlan {
 public:
  struct Options {
    int num_models = 0;  // that are going to come, or to be counted out
    ContextIs context = ContextIs::as_it_comes;
    std::function<base::Result<std::int64_t>()> free_bytes;  // of the GPU, asked once
  };
  explicit GpuPlan(Options options) : options_(std::move(options)) {}

  // A model that needs no KV on the GPU, or could not be loaded.
  void count_out();
  // Waits for all others, and gives the model's blocks. Each model calls one of these two, once.
  base::Result<int> join(KvDemand demand, const std::stop_token& stop);

 private:
  void arrive(std::unique_lock<std::mutex>& lock);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any all_there_;
  int num_arrived_ = 0;            // guarded by mutex_
  std::vector<KvDemand> demands_;  // guarded by mutex_
  std::optional<base::Result<std::vector<int>>>
      divided_;  // guarded by mutex_; of `demands_`, once all are there
};

}  // namespace kvasir::gateway

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

namespace kvasir::host {

// The KV memory that a model on a GPU asks for after its weights are loaded.
struct KvDemand {
  std::string model;
  std::int64_t bytes_per_block = 0;
  int context_blocks = 0;  // for one sequence of full length
  double share = 1;        // share of the free memory, relative to the other models
};

enum class ContextIs {
  asked_for,    // a model that cannot have its whole context is an error
  as_it_comes,  // a context is cut if there is not enough memory
};

// Divides `free_bytes` (the memory left by weights and scratch) into blocks for each model. A tenth stays
// free. The rest is divided by shares, but every model gets one full context before others get more. An error
// says how much is needed and how much there is.
base::Result<std::vector<int>> divide_kv(std::int64_t free_bytes, std::span<const KvDemand> demands,
                                         ContextIs context);

// Parses entries NAME=NUMBER; the names must be served models.
base::Result<std::map<std::string, double>> parse_shares(const std::vector<std::string>& shares,
                                                         const std::vector<std::string>& models);

// Lets the models of a process share a GPU: the KV memory is divided after all weights are loaded.
// Thread-safe.
class GpuPlan {
 public:
  struct Options {
    int num_models = 0;  // each of them calls join() or count_out()
    ContextIs context = ContextIs::as_it_comes;
    std::function<base::Result<std::int64_t>()> free_bytes;  // free memory of the GPU; called once
  };
  explicit GpuPlan(Options options) : options_(std::move(options)) {}

  // For a model that needs no KV on the GPU or could not be loaded.
  void count_out();
  // Waits for all other models, and returns this model's number of blocks. Each model calls either
  // count_out() or join(), once.
  base::Result<int> join(KvDemand demand, const std::stop_token& stop);

 private:
  void arrive(std::unique_lock<std::mutex>& lock);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any all_there_;
  int num_arrived_ = 0;            // guarded by mutex_
  std::vector<KvDemand> demands_;  // guarded by mutex_
  // The blocks for `demands_`, set when all models have arrived; guarded by mutex_.
  std::optional<base::Result<std::vector<int>>> divided_;
};

}  // namespace kvasir::host

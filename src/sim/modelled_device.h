#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/step_cost.h"

namespace kvasir::sim {

// The measured time of a step with this many rows and almost no context.
struct CostPoint {
  int rows = 0;
  double seconds = 0;
};

// The times of a device's steps, as measured on a real one.
struct DeviceCosts {
  std::vector<CostPoint> points;  // sorted by rows, at least two; linear between and beyond them
  double kv_token_s = 0;          // for each KV token that a single row attends to
  double prefill_kv_token_s = 0;  // for each KV token that a row of a prompt attends to
  double noise = 0;               // random variation of a step's time, as a part of it
  bool overlaps = false;          // the next step is planned before the tokens of the last one are known

  double seconds(const sched::StepLoad& load) const;
};

// Parses rows and milliseconds, such as "1:50,8:91,64:385".
base::Result<std::vector<CostPoint>> parse_cost_points(std::string_view text);

// Qwen2.5-Coder-1.5B in Q4_K_M on two cores of a CPU with AVX-512 VNNI.
DeviceCosts cpu_costs();
// Llama-3.1-8B in bf16 on one H200.
DeviceCosts gpu_costs();

// The step cost that a server learns at its start by trying steps of different sizes.
sched::StepCost calibrated_cost(const DeviceCosts& costs, int max_batch_sequences, int max_batch_tokens);

// A device that takes the modelled time and computes nothing. The same seed gives the same times.
class ModelledDevice {
 public:
  ModelledDevice(DeviceCosts costs, std::uint64_t seed) : costs_(std::move(costs)), random_(seed) {}

  double run_s(const sched::StepLoad& load);

 private:
  DeviceCosts costs_;
  std::mt19937_64 random_;
};

}  // namespace kvasir::sim

#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "config/settings.h"
#include "host/gpu_plan.h"
#include "hub/pull.h"
#include "obs/registry.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::host {

// Objects that all models of this process share. They outlive the hosts.
struct HostSurroundings {
  const config::Settings& settings;
  ops::ComputePool& pool;
  obs::Registry& registry;
  const base::Clock& clock;
  hub::ProgressSink& progress;
  // Divides a GPU's free memory between models; null: the size of the model's KV is fixed.
  std::shared_ptr<GpuPlan> gpu_plan = nullptr;
  std::map<std::string, double> gpu_shares = {};
  std::map<std::string, double> slo_ttft_ms = {};  // by model; 0 or absent: the SLO that the device can reach
  std::map<std::string, double> slo_tpot_ms = {};
};

}  // namespace kvasir::host

#pragma once

#include <vector>

#include "obs/registry.h"
#include "remote/kv_traffic.h"

namespace kvasir::worker {

// Adds the metrics of KV that is sent between workers. The traffic outlives the observations.
void observe(const remote::KvTraffic& traffic, obs::Registry& registry,
             std::vector<obs::Observation>& observations);

}  // namespace kvasir::worker

#pragma once

#include <vector>

#include "obs/registry.h"

namespace kvasir::obs {

// Metrics of the process: memory, descriptors, threads, processor time and start, with the names that
// Prometheus's own client libraries use. They are in the registry while this object lives.
class ProcessMetrics {
 public:
  explicit ProcessMetrics(Registry& registry);

 private:
  std::vector<Observation> observations_;
};

}  // namespace kvasir::obs

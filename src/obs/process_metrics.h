#pragma once

#include <vector>

#include "obs/registry.h"

namespace kvasir::obs {

// The process's memory, descriptors, threads, processor time and start, under the names that Prometheus's own
// client libraries use. They are in the registry while this lives.
class ProcessMetrics {
 public:
  explicit ProcessMetrics(Registry& registry);

 private:
  std::vector<Observation> observations_;
};

}  // namespace kvasir::obs

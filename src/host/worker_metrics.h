#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/local_worker.h"
#include "net/http_server.h"
#include "obs/registry.h"

namespace kvasir::host {

struct ObservedWorker {
  std::string model;
  std::string device;           // "cpu" or "cuda"
  double peak_bytes_per_s = 0;  // of the device's memory; 0: not known
  std::shared_ptr<engine::LocalWorker> worker;
};

// Adds a worker's metrics to the registry. They are there while the returned observations live.
std::vector<obs::Observation> observe_worker(obs::Registry& registry, const ObservedWorker& observed);

// Adds the HTTP server's metrics. `stats` outlives the observations.
std::vector<obs::Observation> observe_server(obs::Registry& registry, const net::ServerStats& stats);

}  // namespace kvasir::host

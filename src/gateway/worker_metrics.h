#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/local_worker.h"
#include "net/http_server.h"
#include "obs/registry.h"

namespace kvasir::gateway {

// Adds a worker's metrics to the registry, read from its snapshots, while the returned observations live.
std::vector<obs::Observation> observe_worker(obs::Registry& registry, const std::string& model,
                                             const std::shared_ptr<engine::LocalWorker>& worker);

// Adds the HTTP server's metrics. `stats` outlives the observations.
std::vector<obs::Observation> observe_server(obs::Registry& registry, const net::ServerStats& stats);

}  // namespace kvasir::gateway

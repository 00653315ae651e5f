#pragma once

#include <map>
#include <vector>

#include "api/http/service/service.h"
#include "obs/registry.h"
#include "router/router.h"

namespace kvasir::api {

// The number of requests that wait for a model, in the lobby or for a place in its batch, by priority. Has an
// entry for the priority of every tier.
std::map<int, int> queue_of(const Service& service, const router::ModelStatus& model);

// Shows the queues of all models, and the memory of resumable streams, while the result lives. The service
// outlives the result.
std::vector<obs::Observation> observe_service(obs::Registry& registry, const Service& service);

}  // namespace kvasir::api

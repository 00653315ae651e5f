#pragma once

#include <map>
#include <vector>

#include "api/http/service/service.h"
#include "obs/registry.h"
#include "router/router.h"

namespace kvasir::api {

// The requests that wait for a model, at the door or for a place in its batch, by priority. Has every
// priority of a tier.
std::map<int, int> queue_of(const Service& service, const router::ModelStatus& model);

// Shows the queues of all models, and what is kept of streams, while the result lives. The service outlives
// it.
std::vector<obs::Observation> observe_service(obs::Registry& registry, const Service& service);

}  // namespace kvasir::api

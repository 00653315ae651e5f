#pragma once

#include "api/http/service/service.h"
#include "base/json.h"
#include "hub/library.h"
#include "router/router.h"

namespace kvasir::api {

namespace json = boost::json;

// A model as /v1/models shows it.
json::object model_object(const router::ModelStatus& model, const Service& service);
// As above, for a model that only upstreams serve.
json::object upstream_object(const upstream::Pool& pool);
// As above, for a model that is not loaded.
json::object unloaded_object(const hub::Model& model);
// Adds the progress of a download.
void add_progress(const router::ModelState& state, json::object& object);

}  // namespace kvasir::api

#pragma once

#include "api/http/service/service.h"
#include "base/json.h"
#include "hub/library.h"
#include "router/router.h"

namespace kvasir::api {

namespace json = boost::json;

// A model as /v1/models shows it.
json::object model_object(const router::ModelStatus& model, const Service& service);
// A model that only upstreams serve, in the same form.
json::object upstream_object(const upstream::Pool& pool);
// A model that is not loaded, in the same form.
json::object unloaded_object(const hub::Model& model);
// Adds the progress of a download.
void add_progress(const router::ModelState& state, json::object& object);

}  // namespace kvasir::api

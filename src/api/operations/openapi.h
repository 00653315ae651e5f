#pragma once

#include <span>

#include "api/http/service/route.h"
#include "base/json.h"

namespace kvasir::api {

// The OpenAPI 3.1 document of the routes, generated from the tables that route and read requests.
boost::json::object openapi_document(std::span<const RouteGroup> groups);

}  // namespace kvasir::api

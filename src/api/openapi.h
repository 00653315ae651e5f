#pragma once

#include <string>

#include "base/json.h"

namespace kvasir::api {

// The OpenAPI 3.1 document of all routes, from the tables that route and read requests.
boost::json::object openapi_document();

}  // namespace kvasir::api

#pragma once

#include "api/http/json/fields.h"

namespace kvasir::api {

// The schema of the body of POST /v1/batches.
json::object batch_request_schema();

}  // namespace kvasir::api

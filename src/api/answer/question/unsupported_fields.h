#pragma once

#include "api/http/json/object_schema.h"

namespace kvasir::api {

// Refuses fields that this API's clients know and this server does not support, so that no client takes the
// answer for something else. Values that ask for nothing (false, [], "auto", 1) are accepted.
base::Status refuse_unsupported(const json::object& body);
// Adds these fields, and those that only tune an option that is off here, to the schema as known fields
// without documentation.
void describe_unsupported(ObjectSchema& schema);

}  // namespace kvasir::api

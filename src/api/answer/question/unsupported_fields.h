#pragma once

#include "api/http/json/object_schema.h"

namespace kvasir::api {

// Refuses fields that this API's clients know and this server does not support, so that no client mistakes
// the answer. Values that ask for nothing (false, [], "auto", 1) pass.
base::Status refuse_unsupported(const json::object& body);
// Names them, and those that only tune what is off here, as fields that are known. None is documented.
void describe_unsupported(ObjectSchema& schema);

}  // namespace kvasir::api

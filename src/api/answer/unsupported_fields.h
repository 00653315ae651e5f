#pragma once

#include "api/http/fields.h"

namespace kvasir::api {

// Refuses fields that this API's clients know and this server does not support, so that no client mistakes
// the answer. Values that ask for nothing (false, [], "auto", 1) pass.
base::Status refuse_unsupported(const json::object& body);

}  // namespace kvasir::api

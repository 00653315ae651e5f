#pragma once

#include "api/http/fields.h"

namespace kvasir::api {

// Refuses a request that asks for something which clients of this API know and this server does not do, so
// that nobody takes an answer for what it is not. Values that ask for nothing (false, [], "auto", 1) pass.
base::Status refuse_unsupported(const json::object& body);

}  // namespace kvasir::api

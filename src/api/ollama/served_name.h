#pragma once

#include <string>

#include "api/http/service/service.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// The served model that a client means: "m" and "m:latest" are the same unless a model is really named
// "m:latest". not_found: the caller has no such model.
base::Result<std::string> served_name(const Service& service, const tenancy::Caller& caller,
                                      const std::string& asked);

// The name of the model that a client means, whether or not it is served.
std::string meant_name(const Service& service, std::string asked);

// Returns "m" for "m:latest".
std::string_view without_latest(std::string_view name);

}  // namespace kvasir::api

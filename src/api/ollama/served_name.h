#pragma once

#include <string>

#include "api/http/service/service.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// The served model that a client means: "m" and "m:latest" are one unless a model is really called the
// latter. not_found: the caller has no such model.
base::Result<std::string> served_name(const Service& service, const tenancy::Caller& caller,
                                      const std::string& asked);

// The name of the model that a client means, whether it is served or not.
std::string meant_name(const Service& service, std::string asked);

// "m" for "m:latest".
std::string_view without_latest(std::string_view name);

}  // namespace kvasir::api

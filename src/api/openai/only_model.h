#pragma once

#include <string>
#include <string_view>

#include "api/http/service/service.h"

namespace kvasir::api {

inline constexpr std::string_view kOptionalModelSchema =
    R"({"type": "string", "description": "One of the models; may be absent where there is only one."})";

// Returns the name, or, if it is empty, that of the caller's only model. vLLM's clients may omit the name.
base::Result<std::string> named_or_only(const Service& service, const tenancy::Caller& caller,
                                        std::string name);

}  // namespace kvasir::api

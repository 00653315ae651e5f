#pragma once

#include <span>

#include "api/http/service/route.h"

namespace kvasir::api {

// The schemas of the answers of OpenAI's endpoints.
std::span<const NamedSchema> openai_schemas();

}  // namespace kvasir::api

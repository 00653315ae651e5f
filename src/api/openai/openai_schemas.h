#pragma once

#include <span>

#include "api/http/route.h"

namespace kvasir::api {

// What the endpoints of OpenAI's API answer with.
std::span<const NamedSchema> openai_schemas();

}  // namespace kvasir::api

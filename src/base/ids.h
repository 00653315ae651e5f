#pragma once

#include <cstdint>

namespace kvasir {

// A token of a model's vocabulary. Never negative in a valid stream.
using TokenId = std::int32_t;

}  // namespace kvasir

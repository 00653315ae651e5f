#pragma once

#include <cstdint>

namespace kvasir::ops {

enum class RouterScore : std::uint8_t { softmax, sigmoid };

}  // namespace kvasir::ops

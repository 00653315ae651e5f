#pragma once

#include <cstdint>

namespace kvasir::ops {

enum class RopeStyle : std::uint8_t {
  neox,         // pairs (i, i + rotary_dim/2)
  interleaved,  // pairs (2i, 2i + 1)
};

}  // namespace kvasir::ops

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::ops {

// The instruction sets that kernels are written for. All of them compute the same bits.
enum class Isa : std::uint8_t {
  scalar,
  avx2,         // AVX2, FMA, F16C
  avx512,       // AVX-512 F, BW, DQ, VL
  avx512_vnni,  // AVX-512 as above, and VNNI
  amx,          // AVX-512 with VNNI, and 8-bit AMX tiles
  neon,         // what every arm64 has
  neon_dotprod,
  neon_i8mm,  // neon_dotprod, and 8-bit products of two rows by two columns
};

std::string_view name(Isa isa);

// The sets that this machine supports, slowest first. The first is `scalar`.
const std::vector<Isa>& supported_isas();

// Finds a set by name; "auto" means the best. Fails if this machine does not support it.
base::Result<Isa> choose_isa(std::string_view wanted);

inline Isa best_isa() {
  return supported_isas().back();
}

}  // namespace kvasir::ops

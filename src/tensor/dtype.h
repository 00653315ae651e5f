#pragma once

#include <cstdint>
#include <string_view>

namespace kvasir::tensor {

// How numbers are stored. The quantised types are GGUF's block formats, byte for byte.
enum class DType : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  iq2_xxs,
  iq3_xxs,
};
inline constexpr int kNumDTypes = 17;

// A tensor's row is a whole number of blocks. A block holds `block_elems` numbers in `block_bytes` bytes.
struct DTypeInfo {
  std::string_view name;
  int block_elems;
  int block_bytes;
};

const DTypeInfo& info(DType type);

// The bytes that `elems` consecutive numbers take. `elems` must be a multiple of the block size.
std::int64_t bytes_of(DType type, std::int64_t elems);

}  // namespace kvasir::tensor

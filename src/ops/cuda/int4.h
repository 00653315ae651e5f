#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cuda/stream.h"
#include "tensor/dtype.h"

// Four-bit matrices on the device. A number is step * q + least, where each 32 columns have a pair (step,
// least) of bf16. The nibbles of 128 columns are 16 words. Word 4 t + j has columns 32 j + 8 t to 32 j + 8 t
// + 7: the first, third, fifth and seventh of them in its lower half, the others in its upper half.
namespace kvasir::ops::cuda {

inline constexpr int kInt4Block = 128;  // columns in a block; a row is a whole number of blocks
inline constexpr int kInt4Group = 32;

constexpr std::int64_t int4_bytes(std::int64_t numbers) {
  return numbers / 2;
}
constexpr std::int64_t int4_group_bytes(std::int64_t numbers) {
  return numbers / kInt4Group * 4;
}

// Whether a file's type can be stored in this format: types with four bits a number and suitable groups, and
// float types, which are rounded.
bool can_be_int4(tensor::DType type);

// Packs one row of a matrix from its file's format.
void pack_int4(tensor::DType type, const std::byte* row, std::int64_t cols, std::byte* nibbles,
               std::byte* groups);

struct UnpackInt4Args {
  std::int64_t count = 0;  // numbers, a multiple of kInt4Block
  const void* nibbles = nullptr;
  const void* groups = nullptr;
  void* y = nullptr;  // bf16
};
void unpack_int4(StreamHandle stream, const UnpackInt4Args& args);

// Rounds bf16 numbers that are already on the device, as pack_int4 rounds floats.
struct RoundInt4Args {
  std::int64_t count = 0;
  const void* x = nullptr;
  void* nibbles = nullptr;
  void* groups = nullptr;
};
void round_to_int4(StreamHandle stream, const RoundInt4Args& args);

}  // namespace kvasir::ops::cuda

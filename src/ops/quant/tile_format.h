#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

// Quantised weights are kept in memory in tiles of 16 rows, so that the 16 lanes of a vector are 16 outputs
// and no sum ever crosses lanes. A tile has its rows' blocks one after another along the columns. The bytes
// of a block are ordered in units of one vector: for each of the 16 rows, 4 consecutive columns. The layout
// is the same on every instruction set, and nothing is rounded: the numbers are those of the file.
namespace kvasir::ops {

inline constexpr int kTileRows = 16;

// One group of 32 columns in 4 bits each. Byte [c][row][j] has column 8c + j in its low nibble and column 8c
// + 4 + j in its high nibble.
struct Nibbles {
  std::uint8_t bytes[4][kTileRows][4];
};
using HalfLanes = std::uint16_t[kTileRows];  // f16

struct TileQ4_0 {  // also for IQ4_NL
  static constexpr int kGroups = 1;
  Nibbles low[1];
  HalfLanes d;
};
struct TileQ4_1 {
  static constexpr int kGroups = 1;
  Nibbles low[1];
  HalfLanes d;
  HalfLanes m;
};
// Bit c of byte [row][j] is the fifth bit of column 4c + j.
using FifthBits = std::uint8_t[kTileRows][4];
struct TileQ5_0 {
  static constexpr int kGroups = 1;
  Nibbles low[1];
  FifthBits high[1];
  HalfLanes d;
};
struct TileQ5_1 {
  static constexpr int kGroups = 1;
  Nibbles low[1];
  FifthBits high[1];
  HalfLanes d;
  HalfLanes m;
};
struct TileQ8_0 {
  static constexpr int kGroups = 1;
  std::int8_t q[8][kTileRows][4];  // [c][row][j]: column 4c + j
  HalfLanes d;
};
struct TileQ4K {
  static constexpr int kGroups = 8;
  HalfLanes d;
  HalfLanes dmin;
  std::uint8_t scales[8][kTileRows];
  std::uint8_t minima[8][kTileRows];
  Nibbles low[8];
};
struct TileQ5K {
  static constexpr int kGroups = 8;
  HalfLanes d;
  HalfLanes dmin;
  std::uint8_t scales[8][kTileRows];
  std::uint8_t minima[8][kTileRows];
  Nibbles low[8];
  FifthBits high[8];
};
struct alignas(64) TileQ6K {
  static constexpr int kGroups = 8;
  Nibbles low[8];
  // Bits 2b and 2b + 1 of byte [group][half][row][j] are the high bits of column 16 half + 4b + j.
  std::uint8_t high[8][2][kTileRows][4];
  std::int8_t scales[8][2][kTileRows];  // one for each 16 columns
  HalfLanes d;
};
struct TileIQ4_XS {  // also for IQ2_XXS and IQ3_XXS, whose nibbles stand for other numbers (grid_codes.h)
  static constexpr int kGroups = 8;
  HalfLanes d;
  std::int8_t scales[8][kTileRows];
  Nibbles low[8];
};

// The type that a weight has in tiles: its own, or another type that can hold exactly the same numbers.
tensor::DType tile_type(tensor::DType type);

// Whether a type's scales are small integers times one factor for 256 columns, so that the products of 256
// columns can be summed without rounding.
bool has_whole_scales(tensor::DType type);

// The size of a tile's blocks for this type. 0 bytes: the type is not kept in tiles.
struct TileInfo {
  int block_bytes = 0;
  int block_cols = 0;
};
TileInfo tile_info(tensor::DType type);

inline std::int64_t tile_bytes(tensor::DType type, std::int64_t cols) {
  const TileInfo info = tile_info(type);
  return cols / info.block_cols * info.block_bytes;
}

// Fills one tile from num_rows (1 to 16) rows of a weight in its file's format. Missing rows become zero.
void pack_tile(tensor::DType type, const std::byte* rows, int num_rows, std::int64_t cols, std::byte* tile);

}  // namespace kvasir::ops

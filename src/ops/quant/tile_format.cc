#include "ops/quant/tile_format.h"

#include <cstring>

#include "base/check.h"
#include "ops/quant/grid_codes.h"
#include "ops/quant/quant_blocks.h"

namespace kvasir::ops {
namespace {

constexpr std::uint32_t kLowNibbles = 0x0f0f0f0f;

std::uint32_t load32(const std::uint8_t* p) {
  std::uint32_t bits;
  std::memcpy(&bits, p, 4);
  return bits;
}

void store32(std::uint8_t* p, std::uint32_t bits) {
  std::memcpy(p, &bits, 4);
}

// Packs 16 bytes whose low nibbles are columns 0..15 of a group and whose high nibbles are columns 16..31.
void pack_split_nibbles(const std::uint8_t* qs, int row, Nibbles& out) {
  for (int c = 0; c < 2; ++c) {
    const std::uint32_t a = load32(qs + 8 * c);
    const std::uint32_t b = load32(qs + 8 * c + 4);
    store32(out.bytes[c][row], (a & kLowNibbles) | (b & kLowNibbles) << 4);
    store32(out.bytes[c + 2][row], (a >> 4 & kLowNibbles) | (b & ~kLowNibbles));
  }
}

// Packs the nibbles at bit `shift` of 32 bytes, which are the 32 columns of a group.
void pack_plain_nibbles(const std::uint8_t* qs, int shift, int row, Nibbles& out) {
  for (int c = 0; c < 4; ++c) {
    const std::uint32_t a = load32(qs + 8 * c) >> shift & kLowNibbles;
    const std::uint32_t b = load32(qs + 8 * c + 4) >> shift & kLowNibbles;
    store32(out.bytes[c][row], a | b << 4);
  }
}

// Packs the fifth bits of a group: bit i of `bits` belongs to column i.
void pack_fifth_bits(std::uint32_t bits, int row, FifthBits& out) {
  for (int j = 0; j < 4; ++j) {
    int byte = 0;
    for (int c = 0; c < 8; ++c) byte |= static_cast<int>(bits >> (4 * c + j) & 1) << c;
    out[row][j] = static_cast<std::uint8_t>(byte);
  }
}

void pack(const BlockQ8_0& b, int row, TileQ8_0& out) {
  for (int c = 0; c < 8; ++c) std::memcpy(out.q[c][row], b.qs + 4 * c, 4);
  out.d[row] = bits_of(b.d);
}

void pack(const BlockQ4_0& b, int row, TileQ4_0& out) {
  pack_split_nibbles(b.qs, row, out.low[0]);
  out.d[row] = bits_of(b.d);
}

void pack(const BlockQ4_1& b, int row, TileQ4_1& out) {
  pack_split_nibbles(b.qs, row, out.low[0]);
  out.d[row] = bits_of(b.d);
  out.m[row] = bits_of(b.m);
}

void pack(const BlockQ5_0& b, int row, TileQ5_0& out) {
  pack_split_nibbles(b.qs, row, out.low[0]);
  pack_fifth_bits(load32(b.qh), row, out.high[0]);
  out.d[row] = bits_of(b.d);
}

void pack(const BlockQ5_1& b, int row, TileQ5_1& out) {
  pack_split_nibbles(b.qs, row, out.low[0]);
  pack_fifth_bits(load32(b.qh), row, out.high[0]);
  out.d[row] = bits_of(b.d);
  out.m[row] = bits_of(b.m);
}

// Packs what Q4_K and Q5_K have in common.
template <class Block, class Tile>
void pack_k(const Block& b, int row, Tile& out) {
  for (int g = 0; g < 8; ++g) {
    pack_plain_nibbles(b.qs + g / 2 * 32, g % 2 * 4, row, out.low[g]);
    out.scales[g][row] = static_cast<std::uint8_t>(scale_of_group(b.scales, g));
    out.minima[g][row] = static_cast<std::uint8_t>(minimum_of_group(b.scales, g));
  }
  out.d[row] = bits_of(b.d);
  out.dmin[row] = bits_of(b.dmin);
}

void pack(const BlockQ4K& b, int row, TileQ4K& out) {
  pack_k(b, row, out);
}

void pack(const BlockQ5K& b, int row, TileQ5K& out) {
  pack_k(b, row, out);
  for (int g = 0; g < 8; ++g) {
    std::uint32_t bits = 0;
    for (int l = 0; l < 32; ++l) bits |= static_cast<std::uint32_t>(b.qh[l] >> g & 1) << l;
    pack_fifth_bits(bits, row, out.high[g]);
  }
}

void pack(const BlockQ6K& b, int row, TileQ6K& out) {
  for (int g = 0; g < 8; ++g) {
    const int quarter = g % 4;  // the quarter of the half block that the group is in
    pack_plain_nibbles(b.ql + g / 4 * 64 + quarter % 2 * 32, quarter / 2 * 4, row, out.low[g]);
    const std::uint8_t* qh = b.qh + g / 4 * 32;
    for (int half = 0; half < 2; ++half) {
      std::uint32_t bits = 0;
      for (int i = 0; i < 4; ++i) {
        bits |= (load32(qh + 16 * half + 4 * i) >> (2 * quarter) & 0x03030303) << (2 * i);
      }
      store32(out.high[g][half][row], bits);
      out.scales[g][half][row] = b.scales[2 * g + half];
    }
  }
  out.d[row] = bits_of(b.d);
}

// Q6_K can hold the same numbers as Q3_K: 16 numbers (-4..3) share a scale (-32..31).
void pack(const BlockQ3K& b, int row, TileQ6K& out) {
  for (int i = 0; i < 256; ++i) {
    const int low = b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int high = b.hmask[i % 32] >> (i / 32) & 1;
    const int q = low + 4 * high - 4 + 32;
    const int g = i / 32;
    const int col = i % 32;
    std::uint8_t& nibbles = out.low[g].bytes[col / 8][row][col % 4];
    std::uint8_t& bits = out.high[g][col / 16][row][col % 4];
    if (col % 8 < 4) nibbles = 0;
    if (col % 16 < 4) bits = 0;
    nibbles = static_cast<std::uint8_t>(nibbles | (q & 15) << (col % 8 < 4 ? 0 : 4));
    bits = static_cast<std::uint8_t>(bits | (q >> 4) << (col % 16 / 4 * 2));
  }
  for (int i = 0; i < 16; ++i) out.scales[i / 2][i % 2][row] = static_cast<std::int8_t>(scale_of_16(b, i));
  out.d[row] = bits_of(b.d);
}

void pack(const BlockIQ4_XS& b, int row, TileIQ4_XS& out) {
  for (int g = 0; g < 8; ++g) {
    pack_split_nibbles(b.qs + 16 * g, row, out.low[g]);
    out.scales[g][row] = static_cast<std::int8_t>(scale_of_group(b, g));
  }
  out.d[row] = bits_of(b.d);
}

template <class Block>
void pack_grid(const Block& b, int row, TileIQ4_XS& out) {
  for (int g = 0; g < 8; ++g) {
    const GridCodes codes = grid_codes(b, g);
    pack_plain_nibbles(codes.nibbles, 0, row, out.low[g]);
    out.scales[g][row] = static_cast<std::int8_t>(codes.scale);
  }
  out.d[row] = bits_of(b.d);
}

void pack(const BlockIQ2_XXS& b, int row, TileIQ4_XS& out) {
  pack_grid(b, row, out);
}

void pack(const BlockIQ3_XXS& b, int row, TileIQ4_XS& out) {
  pack_grid(b, row, out);
}

template <class Block, class Tile>
void pack_all(const std::byte* rows, int num_rows, std::int64_t num_blocks, std::byte* tile) {
  const auto* blocks = reinterpret_cast<const Block*>(rows);
  auto* out = reinterpret_cast<Tile*>(tile);
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    if (num_rows < kTileRows) std::memset(static_cast<void*>(&out[i]), 0, sizeof(Tile));
    for (int row = 0; row < num_rows; ++row) pack(blocks[row * num_blocks + i], row, out[i]);
  }
}

struct Packer {
  TileInfo info;
  void (*pack)(const std::byte* rows, int num_rows, std::int64_t num_blocks, std::byte* tile) = nullptr;
};

template <class Block, class Tile>
Packer packer() {
  return {{sizeof(Tile), Tile::kGroups * 32}, pack_all<Block, Tile>};
}

Packer packer_of(tensor::DType type) {
  using tensor::DType;
  switch (type) {
    case DType::q8_0:
      return packer<BlockQ8_0, TileQ8_0>();
    case DType::q4_0:
    case DType::iq4_nl:
      return packer<BlockQ4_0, TileQ4_0>();
    case DType::q4_1:
      return packer<BlockQ4_1, TileQ4_1>();
    case DType::q5_0:
      return packer<BlockQ5_0, TileQ5_0>();
    case DType::q5_1:
      return packer<BlockQ5_1, TileQ5_1>();
    case DType::q4_k:
      return packer<BlockQ4K, TileQ4K>();
    case DType::q5_k:
      return packer<BlockQ5K, TileQ5K>();
    case DType::q6_k:
      return packer<BlockQ6K, TileQ6K>();
    case DType::q3_k:
      return packer<BlockQ3K, TileQ6K>();
    case DType::iq4_xs:
      return packer<BlockIQ4_XS, TileIQ4_XS>();
    case DType::iq2_xxs:
      return packer<BlockIQ2_XXS, TileIQ4_XS>();
    case DType::iq3_xxs:
      return packer<BlockIQ3_XXS, TileIQ4_XS>();
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::q2_k:
      break;
  }
  return {};
}

}  // namespace

tensor::DType tile_type(tensor::DType type) {
  return type == tensor::DType::q3_k ? tensor::DType::q6_k : type;
}

bool has_whole_scales(tensor::DType type) {
  return tile_info(type).block_cols == 256;
}

TileInfo tile_info(tensor::DType type) {
  return packer_of(type).info;
}

void pack_tile(tensor::DType type, const std::byte* rows, int num_rows, std::int64_t cols, std::byte* tile) {
  const Packer packer = packer_of(type);
  CHECK(packer.pack != nullptr && num_rows >= 1 && num_rows <= kTileRows, "{} rows of {}", num_rows,
        tensor::info(type).name);
  packer.pack(rows, num_rows, cols / packer.info.block_cols, tile);
}

}  // namespace kvasir::ops

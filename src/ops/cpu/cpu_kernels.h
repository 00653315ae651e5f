#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "ops/cpu/isa.h"
#include "ops/types/activation.h"
#include "ops/types/kv_layer.h"
#include "tensor/dtype.h"

// The interface between the ops, which check and split the work, and their kernels. The kernels are written
// once, as templates over the vectors of an instruction set (x_cpu.inc). cpu_<isa>.cc compiles the kernels
// with products of bytes for one instruction set. cpu_<isa>_floats.cc compiles the others, for all sets with
// the same vectors.
namespace kvasir::ops {

// Integer dot products start at the bits of this float, whose last bit is worth 1. So a sum s has the bits of
// the float kSumBase + s while |s| < 2^22 (here it is at most 128 * 127 * 32), and fma(that float, scale,
// -kSumBase * scale) is s * scale, rounded once. This saves a conversion and a product.
inline constexpr float kSumBase = 3 << 22;
inline constexpr auto kSumBits = std::bit_cast<std::int32_t>(kSumBase);

// 32 numbers of an activation row in 8 bits. A quantised weight w = scale * q + minimum is multiplied with
// them as Σ w x = scale * (x.scale * Σ q x.q) + minimum * x.scaled_sum.
struct ActivationGroup {
  std::int8_t q[32];
  float scale;  // has 22 bits, so that `shift` is exact
  float shift;  // -kSumBase * scale
  // Where integer dot products start: kSumBits - offset * Σ q, for a weight stored as q + offset.
  std::int32_t start;
  union {
    float scaled_sum;           // scale * Σ q, for types with a minimum
    std::int32_t second_start;  // `start` for numbers 16 to 31, for types with a scale for each 16 numbers
  };
};
static_assert(sizeof(ActivationGroup) == 48);

// Activation rows are stored in blocks of `width` rows. A block is [groups, width].
inline constexpr int kMaxActivationWidth = 8;

// 64 numbers of an activation row, as two groups of 32. Each is scale * (2^kFineLowBits * high + low), 12
// bits.
struct FinePair {
  std::int8_t high[64];
  std::int8_t low[64];
};
struct FineSums {
  float sum;  // the sum of a group's integers
  // -offset times the sum of the integers, for a weight stored as q + offset. Types with a scale for each 16
  // numbers use both entries: then start[0] covers the first 16 numbers only.
  std::int32_t start[2];
};
inline constexpr int kFineLowBits = 4;
inline constexpr int kFineGroups = 8;  // groups that share a scale
inline constexpr int kMaxFineWidth = 16;

// The fine activations of `width` rows.
struct FineBlock {
  FinePair* pairs = nullptr;  // [(groups + 1) / 2, width]
  FineSums* sums = nullptr;   // [groups, width]
  float* scales = nullptr;    // [groups / kFineGroups, width]
  int width = 1;

  static std::int64_t num_pairs(std::int64_t num_groups) { return (num_groups + 1) / 2; }
  static std::int64_t bytes(std::int64_t num_groups, int width) {
    const std::int64_t row = num_pairs(num_groups) * static_cast<std::int64_t>(sizeof(FinePair)) +
                             num_groups * static_cast<std::int64_t>(sizeof(FineSums)) +
                             (num_groups + kFineGroups - 1) / kFineGroups * 4;
    return (row * width + 63) / 64 * 64;
  }
  static FineBlock at(std::byte* p, std::int64_t num_groups, int width) {
    auto* pairs = reinterpret_cast<FinePair*>(p);
    auto* sums = reinterpret_cast<FineSums*>(pairs + num_pairs(num_groups) * width);
    return {pairs, sums, reinterpret_cast<float*>(sums + num_groups * width), width};
  }
};

// The fine activations of all rows, in blocks of `width` rows, one after another.
struct FineRows {
  std::byte* data = nullptr;
  int width = 1;
  std::int64_t num_groups = 0;

  std::int64_t block_bytes() const { return FineBlock::bytes(num_groups, width); }
  FineBlock block(std::int64_t i) const { return FineBlock::at(data + i * block_bytes(), num_groups, width); }
};

struct QuantizeJob {
  const float* x = nullptr;  // [cols]
  std::int64_t num_groups = 0;
  tensor::DType weight = tensor::DType::q8_0;
  ActivationGroup* out = nullptr;  // the row's first group
  int width = 1;
};

struct QuantizeFineJob {
  const float* x = nullptr;  // [cols]
  std::int64_t num_groups = 0;
  tensor::DType weight = tensor::DType::q8_0;
  FineBlock out;
  int row = 0;  // index within the block
};

// Multiplies the rows of one block of activations, over all columns, by one tile.
struct TileJob {
  tensor::DType type = tensor::DType::q8_0;
  const ActivationGroup* x = nullptr;  // [groups, width]
  FineBlock fine;                      // used by multiply_tile_fine, instead of x and width
  int num_rows = 0;                    // up to width
  int width = 1;
  std::int64_t num_groups = 0;
  const std::byte* tile = nullptr;
  int num_outputs = 0;          // outputs in this tile: 16, or fewer in the last
  const float* bias = nullptr;  // [num_outputs] or null
  float* y = nullptr;           // [num_rows, y_stride]
  std::int64_t y_stride = 0;
};

// Multiplies many rows by consecutive tiles, with the same results as multiply_tile or multiply_tile_fine.
struct PanelJob {
  tensor::DType type = tensor::DType::q8_0;
  const ActivationGroup* x = nullptr;  // [blocks, groups, kPanelBlock]; the last block is padded with zeros
  FineRows fine;                       // used by multiply_panel_fine, instead of x
  int num_rows = 0;                    // up to kPanelRows
  std::int64_t num_groups = 0;
  const std::byte* tiles = nullptr;
  int num_tiles = 0;            // up to kPanelTiles
  int num_outputs = 0;          // outputs in all the tiles
  const float* bias = nullptr;  // [num_outputs] or null
  float* y = nullptr;           // [num_rows, y_stride]
  std::int64_t y_stride = 0;
  std::byte* scratch = nullptr;  // kPanelScratchBytes, aligned to 64
};
inline constexpr int kPanelBlock = 16;
inline constexpr int kPanelTiles = 12;
inline constexpr int kPanelBlocks = 32;
inline constexpr int kPanelRows = kPanelBlocks * kPanelBlock;
inline constexpr std::int64_t kPanelChunkBytes = 32 << 10;  // two tiles' unpacked columns
inline constexpr std::int64_t kPanelScratchBytes =          // the unpacked columns, then a panel's sums
    kPanelChunkBytes + std::int64_t{kPanelTiles} * kPanelBlocks * 1024;

// Multiplies float rows by consecutive rows of an unquantised weight.
struct RowsJob {
  tensor::DType type = tensor::DType::f32;  // f32, f16 or bf16
  const float* x = nullptr;                 // [num_rows, cols]
  int num_rows = 0;
  std::int64_t cols = 0;
  const std::byte* w = nullptr;  // [num_outputs, cols]
  int num_outputs = 0;
  const float* bias = nullptr;  // [num_outputs] or null
  float* y = nullptr;           // [num_rows, y_stride]
  std::int64_t y_stride = 0;
};

// The result of one row's query heads on one KV head, over one partition of the context.
struct AttendPart {
  float* maxima = nullptr;  // [num_heads]: the largest score
  float* sums = nullptr;    // [num_heads]: Σ exp(score - maximum)
  float* out = nullptr;     // [num_heads, value_dim]: Σ exp(score - maximum) * v
};

struct TokenRange {
  int first = 0;
  int end = 0;
};

struct AttendRow {
  TokenRange range;  // inside one partition, not empty
  AttendPart part;   // where the result goes
};

// Attention over one partition, for the query heads that share a KV head. All rows must have the same blocks
// in that partition.
struct AttendJob {
  const KvLayer* layer = nullptr;
  int kv_head = 0;
  const std::int32_t* blocks = nullptr;  // the blocks of the sequence from its start
  const AttendRow* rows = nullptr;
  int num_rows = 0;
  int num_heads = 0;         // query heads of a row that share the KV head
  const float* q = nullptr;  // [head_dim, q_stride]: head h of row r is column r * num_heads + h
  std::int64_t q_stride = 0;
  float scale = 1;
  float softcap = 0;
  float* scores = nullptr;  // scratch memory of kAttendScratchFloats floats
};

struct ActivateJob {
  Activation activation = Activation::silu;
  const float* gate = nullptr;
  const float* up = nullptr;  // or null
  std::int64_t size = 0;
  float* y = nullptr;
};

// The context is cut into partitions at multiples of this many tokens, whatever the batch looks like.
// Partitions are computed separately and joined in order.
inline constexpr int kPartitionTokens = 256;
inline constexpr int kAttendScratchFloats = 12 * kPartitionTokens;

struct CpuKernels {
  void (*quantize_row)(const QuantizeJob& job);
  void (*quantize_row_fine)(const QuantizeFineJob& job);
  void (*multiply_tile)(const TileJob& job);
  void (*multiply_tile_fine)(const TileJob& job);
  void (*multiply_panel)(const PanelJob& job);
  int min_panel_rows;                                // multiply_panel is faster from this many rows on
  void (*multiply_panel_fine)(const PanelJob& job);  // for types with whole scales; null without AMX
  void (*multiply_rows)(const RowsJob& job);
  void (*attend)(const AttendJob& job);
  // Joins the result `next` into `sum`.
  void (*join_parts)(const AttendPart& sum, const AttendPart& next, int num_heads, int value_dim);
  void (*rms_norm)(const float* x, const float* weight, std::int64_t dim, float eps, float* y);
  void (*activate)(const ActivateJob& job);
  void (*soft_cap)(float cap, std::int64_t n, float* x);
  void (*add)(const float* x, std::int64_t n, float* y);
};

const CpuKernels& cpu_kernels(Isa isa);

}  // namespace kvasir::ops

// Runs the AMX kernels on simulated tile registers, so that every machine with AVX-512 can test them.
#if defined(__x86_64__)

#define KVASIR_KERNELS pretended_amx_kernels
#define KVASIR_PRETEND_TILES

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "ops/cpu/cpu_amx_kernels.inc"
#include "ops/random_tensor_test.h"
#include "ops/weight.h"

namespace kvasir::ops {
namespace {

using tensor::DType;

constexpr int kOutputs = 70;
constexpr int kCols = 768;
constexpr int kGroups = kCols / 32;
constexpr int kTiles = (kOutputs + kTileRows - 1) / kTileRows;

bool runs_avx512() {
  return std::ranges::find(supported_isas(), Isa::avx512) != supported_isas().end();
}

struct Product {
  Weight w;
  std::vector<float> x;
  std::vector<float> bias;
  int num_rows;

  const std::byte* tile(int i) const { return w.tiles() + i * tile_bytes(w.type(), kCols); }
};

Product random_product(DType type, Precision precision, int num_rows, std::mt19937& random) {
  const RandomMatrix matrix(type, kOutputs, kCols, random);
  Product p = {.w = Weight::prepare(matrix.view, precision).value(),
               .x = random_floats(static_cast<std::size_t>(num_rows) * kCols, random),
               .bias = random_floats(kOutputs, random),
               .num_rows = num_rows};
  p.x[3] = 300;
  return p;
}

struct FineActivations {
  std::vector<std::byte> bytes;
  FineRows rows;

  FineActivations(const Product& p, int width) : rows{nullptr, width, kGroups} {
    bytes.resize(static_cast<std::size_t>((p.num_rows + width - 1) / width * rows.block_bytes()));
    rows.data = bytes.data();
    for (int row = 0; row < p.num_rows; ++row) {
      cpu_kernels(Isa::avx512)
          .quantize_row_fine({.x = p.x.data() + row * kCols,
                              .num_groups = kGroups,
                              .weight = p.w.type(),
                              .out = rows.block(row / width),
                              .row = row % width});
    }
  }
};

std::vector<float> multiply_by_tiles(const Product& p) {
  std::vector<float> y(static_cast<std::size_t>(p.num_rows) * kOutputs);
  const FineActivations x(p, 1);
  for (int row = 0; row < p.num_rows; ++row) {
    for (int tile = 0; tile < kTiles; ++tile) {
      cpu_kernels(Isa::avx512)
          .multiply_tile_fine({.type = p.w.type(),
                               .fine = x.rows.block(row),
                               .num_rows = 1,
                               .num_groups = kGroups,
                               .tile = p.tile(tile),
                               .num_outputs = std::min(kTileRows, kOutputs - tile * kTileRows),
                               .bias = p.bias.data() + tile * kTileRows,
                               .y = y.data() + row * kOutputs + tile * kTileRows,
                               .y_stride = kOutputs});
    }
  }
  return y;
}

struct alignas(64) Scratch {
  std::byte bytes[kPanelScratchBytes];
};

std::vector<float> multiply_by_panels(const Product& p, int width) {
  std::vector<float> y(static_cast<std::size_t>(p.num_rows) * kOutputs);
  const FineActivations x(p, width);
  const auto scratch = std::make_unique<Scratch>();
  pretended_amx_kernels().multiply_panel_fine({.type = p.w.type(),
                                               .fine = x.rows,
                                               .num_rows = p.num_rows,
                                               .num_groups = kGroups,
                                               .tiles = p.tile(0),
                                               .num_tiles = kTiles,
                                               .num_outputs = kOutputs,
                                               .bias = p.bias.data(),
                                               .y = y.data(),
                                               .y_stride = kOutputs,
                                               .scratch = scratch->bytes});
  return y;
}

TEST(Panel, FineProductsHaveTheBitsOfTheVectorKernels) {
  if (!runs_avx512()) GTEST_SKIP() << "no AVX-512";
  std::mt19937 random(1);
  for (const DType type :
       {DType::q3_k, DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_xs, DType::iq3_xxs}) {
    for (const auto& [num_rows, width] : {std::pair(4, 4), {16, 16}, {17, 9}, {40, 14}, {48, 16}}) {
      const Product p = random_product(type, Precision::fine, num_rows, random);
      EXPECT_EQ(multiply_by_panels(p, width), multiply_by_tiles(p))
          << tensor::info(type).name << ", " << num_rows << " rows";
    }
  }
}

}  // namespace
}  // namespace kvasir::ops

#endif

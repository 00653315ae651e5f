#include "ops/matmul.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/cpu/cpu_kernels.h"
#include "ops/quant/dequantize.h"
#include "ops/quant/tile_format.h"

namespace kvasir::ops {
namespace {

struct Product {
  const float* x;
  std::int64_t num_rows;
  const Weight& w;
  const float* bias;  // or null
  float* y;

  const float* bias_at(std::int64_t output) const { return bias == nullptr ? nullptr : bias + output; }
};

// Activations of this many bytes stay in a core's own cache while the weights stream past them.
constexpr std::int64_t kChunkBytes = 512 << 10;
// Weights that a thread takes at a time: few enough that the other threads do not wait long for the last
// piece.
constexpr std::int64_t kPieceBytes = 256 << 10;

// Rows that one thread quantises together: no other thread writes to the cache lines of their groups.
constexpr std::int64_t kQuadRows = 4;
// Groups that a thread quantises at a time, counted over all its rows.
constexpr std::int64_t kQuantizeGroups = 512;

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t tiles_a_piece(std::int64_t num_tiles, std::int64_t bytes_a_tile, int num_threads) {
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / bytes_a_tile);
  return std::clamp<std::int64_t>(num_tiles / (num_threads * 8), 1, most);
}

// Activations in blocks of `width` rows.
struct ActivationBlocks {
  int width;
  std::int64_t num_groups;
  std::int64_t num_blocks;

  ActivationBlocks(const Product& p, int width)
      : width(width), num_groups(p.w.cols() / 32), num_blocks(divide_up(p.num_rows, width)) {}
  std::int64_t block_groups() const { return num_groups * width; }
  std::int64_t bytes() const {
    return num_blocks * block_groups() * static_cast<std::int64_t>(sizeof(ActivationGroup));
  }
};

void quantize_rows(Context& context, const Product& p, const ActivationBlocks& blocks, ActivationGroup* out) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const std::int64_t num_quads = divide_up(p.num_rows, kQuadRows);
  const std::int64_t piece_groups = kQuantizeGroups / std::min(kQuadRows, p.num_rows);
  const std::int64_t pieces_a_quad = divide_up(blocks.num_groups, piece_groups);
  context.pool().run(static_cast<int>(num_quads * pieces_a_quad), [&](int piece, int /*thread*/) {
    const std::int64_t first = piece % pieces_a_quad * piece_groups;
    const std::int64_t first_row = piece / pieces_a_quad * kQuadRows;
    const std::int64_t end_row = std::min(p.num_rows, first_row + kQuadRows);
    for (std::int64_t row = first_row; row < end_row; ++row) {
      ActivationGroup* groups = out + row / blocks.width * blocks.block_groups() + row % blocks.width;
      kernels.quantize_row({.x = p.x + row * p.w.cols() + first * 32,
                            .num_groups = std::min(piece_groups, blocks.num_groups - first),
                            .weight = p.w.type(),
                            .out = groups + first * blocks.width,
                            .width = blocks.width});
    }
  });
}

void multiply_tiles(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const ActivationBlocks blocks(p, static_cast<int>(std::min<std::int64_t>(kMaxActivationWidth, p.num_rows)));
  auto* x = reinterpret_cast<ActivationGroup*>(context.scratch(static_cast<std::size_t>(blocks.bytes())));
  quantize_rows(context, p, blocks, x);

  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const std::int64_t num_tiles = divide_up(num_outputs, kTileRows);
  const std::int64_t piece_tiles = tiles_a_piece(num_tiles, bytes, context.pool().num_threads());
  const auto multiply_piece = [&](int piece, int /*thread*/) {
    const std::int64_t end = std::min(num_tiles, (piece + 1) * piece_tiles);
    for (std::int64_t tile = piece * piece_tiles; tile < end; ++tile) {
      const std::int64_t output = tile * kTileRows;
      for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
        const std::int64_t row = block * blocks.width;
        kernels.multiply_tile(
            {.type = p.w.type(),
             .x = x + block * blocks.block_groups(),
             .num_rows = static_cast<int>(std::min<std::int64_t>(blocks.width, p.num_rows - row)),
             .width = blocks.width,
             .num_groups = blocks.num_groups,
             .tile = p.w.tiles() + tile * bytes,
             .num_outputs = static_cast<int>(std::min<std::int64_t>(kTileRows, num_outputs - output)),
             .bias = p.bias_at(output),
             .y = p.y + row * num_outputs + output,
             .y_stride = num_outputs});
      }
    }
  };
  context.pool().run(static_cast<int>(divide_up(num_tiles, piece_tiles)), multiply_piece);
}

FineRows quantize_rows_fine(Context& context, const Product& p, int width, std::byte* data) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const FineRows rows = {data, width, p.w.cols() / 32};
  context.pool().run(static_cast<int>(p.num_rows), [&](int row, int /*thread*/) {
    kernels.quantize_row_fine({.x = p.x + row * p.w.cols(),
                               .num_groups = rows.num_groups,
                               .weight = p.w.type(),
                               .out = rows.block(row / width),
                               .row = row % width});
  });
  return rows;
}

std::int64_t fine_bytes(const Product& p, int width) {
  return divide_up(p.num_rows, width) * FineBlock::bytes(p.w.cols() / 32, width);
}

void multiply_tiles_fine(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int width = static_cast<int>(std::min<std::int64_t>(kMaxFineWidth, p.num_rows));
  std::byte* scratch = context.scratch(static_cast<std::size_t>(fine_bytes(p, width)));
  const FineRows x = quantize_rows_fine(context, p, width, scratch);
  const std::int64_t num_blocks = divide_up(p.num_rows, width);
  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const std::int64_t num_tiles = divide_up(num_outputs, kTileRows);
  const std::int64_t chunk_blocks = std::clamp<std::int64_t>(kChunkBytes / x.block_bytes(), 1, num_blocks);
  const std::int64_t num_chunks = divide_up(num_blocks, chunk_blocks);
  const std::int64_t piece_tiles = tiles_a_piece(num_tiles, bytes, context.pool().num_threads());
  const std::int64_t pieces_a_chunk = divide_up(num_tiles, piece_tiles);
  const auto multiply_piece = [&](int piece, int /*thread*/) {
    const std::int64_t first_block = piece / pieces_a_chunk * chunk_blocks;
    const std::int64_t end_block = std::min(num_blocks, first_block + chunk_blocks);
    const std::int64_t first_tile = piece % pieces_a_chunk * piece_tiles;
    const std::int64_t end_tile = std::min(num_tiles, first_tile + piece_tiles);
    for (std::int64_t tile = first_tile; tile < end_tile; ++tile) {
      const std::int64_t output = tile * kTileRows;
      for (std::int64_t block = first_block; block < end_block; ++block) {
        const std::int64_t row = block * width;
        kernels.multiply_tile_fine(
            {.type = p.w.type(),
             .fine = x.block(block),
             .num_rows = static_cast<int>(std::min<std::int64_t>(width, p.num_rows - row)),
             .num_groups = x.num_groups,
             .tile = p.w.tiles() + tile * bytes,
             .num_outputs = static_cast<int>(std::min<std::int64_t>(kTileRows, num_outputs - output)),
             .bias = p.bias_at(output),
             .y = p.y + row * num_outputs + output,
             .y_stride = num_outputs});
      }
    }
  };
  context.pool().run(static_cast<int>(num_chunks * pieces_a_chunk), multiply_piece);
}

// AMX is faster from this many rows on. With fewer, the time goes into reading memory, or a tile is half
// empty.
constexpr std::int64_t kMinFinePanelRows = 12;

// Cuts the product into panels. `base` has the fields that all panels share; `at_row` sets a panel's
// activations, given its first row.
template <class AtRow>
void run_panels(Context& context, const Product& p, void (*multiply)(const PanelJob&), const PanelJob& base,
                AtRow at_row) {
  const int num_threads = context.pool().num_threads();
  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const std::int64_t num_tiles = divide_up(num_outputs, kTileRows);
  const std::int64_t panel_tiles =  // a multiple of 6 if possible, since kernels take 2 or 3 at a time
      std::clamp<std::int64_t>(num_tiles / (num_threads * 8) / 6 * 6, 3, kPanelTiles);
  const std::int64_t num_panels = divide_up(num_tiles, panel_tiles);
  const auto multiply_panel = [&](int piece, int thread) {
    const std::int64_t row = piece / num_panels * kPanelRows;
    const std::int64_t tile = piece % num_panels * panel_tiles;
    const std::int64_t output = tile * kTileRows;
    PanelJob job = base;
    job.type = p.w.type();
    job.num_rows = static_cast<int>(std::min<std::int64_t>(kPanelRows, p.num_rows - row));
    job.num_groups = p.w.cols() / 32;
    job.tiles = p.w.tiles() + tile * bytes;
    job.num_tiles = static_cast<int>(std::min(panel_tiles, num_tiles - tile));
    job.num_outputs = static_cast<int>(std::min(panel_tiles * kTileRows, num_outputs - output));
    job.bias = p.bias_at(output);
    job.y = p.y + row * num_outputs + output;
    job.y_stride = num_outputs;
    job.scratch += thread * kPanelScratchBytes;
    at_row(row, job);
    multiply(job);
  };
  context.pool().run(static_cast<int>(divide_up(p.num_rows, kPanelRows) * num_panels), multiply_panel);
}

void multiply_panels(Context& context, const Product& p) {
  const ActivationBlocks blocks(p, kPanelBlock);
  std::byte* scratch = context.scratch(
      static_cast<std::size_t>(blocks.bytes() + context.pool().num_threads() * kPanelScratchBytes));
  auto* x = reinterpret_cast<ActivationGroup*>(scratch);
  if (p.num_rows % kPanelBlock != 0) {
    std::memset(static_cast<void*>(x + (blocks.num_blocks - 1) * blocks.block_groups()), 0,
                static_cast<std::size_t>(blocks.block_groups()) * sizeof(ActivationGroup));
  }
  quantize_rows(context, p, blocks, x);
  run_panels(context, p, cpu_kernels(context.isa()).multiply_panel, {.scratch = scratch + blocks.bytes()},
             [&](std::int64_t row, PanelJob& job) { job.x = x + row / kPanelBlock * blocks.block_groups(); });
}

void multiply_panels_fine(Context& context, const Product& p) {
  // All blocks are of equal size, and none has more rows than a tile register.
  const int width = p.num_rows > kPanelRows
                        ? kPanelBlock
                        : static_cast<int>(divide_up(p.num_rows, divide_up(p.num_rows, kPanelBlock)));
  const std::int64_t bytes = fine_bytes(p, width);
  std::byte* scratch =
      context.scratch(static_cast<std::size_t>(bytes + context.pool().num_threads() * kPanelScratchBytes));
  const FineRows x = quantize_rows_fine(context, p, width, scratch);
  run_panels(context, p, cpu_kernels(context.isa()).multiply_panel_fine, {.scratch = scratch + bytes},
             [&](std::int64_t row, PanelJob& job) {
               job.fine = x;
               job.fine.data += row / width * x.block_bytes();
             });
}

bool is_float(tensor::DType type) {
  return tensor::info(type).block_elems == 1;
}

// Multiplies by 8 outputs (a panel) at a time. A panel of a quantised weight is first dequantised into the
// thread's own scratch.
void multiply_rows(Context& context, const Product& p) {
  constexpr std::int64_t kPanel = 8;
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const std::int64_t cols = p.w.cols();
  const bool expand = !is_float(p.w.type());
  const std::int64_t panel_elems = divide_up(expand ? kPanel * cols : 0, 16) * 16;
  auto* panels = reinterpret_cast<float*>(
      context.scratch(static_cast<std::size_t>(panel_elems * context.pool().num_threads()) * sizeof(float)));
  const auto multiply_panel = [&](int piece, int thread) {
    const std::int64_t output = piece * kPanel;
    const std::int64_t num_outputs = std::min(kPanel, p.w.rows() - output);
    RowsJob job = {.type = p.w.type(),
                   .x = p.x,
                   .num_rows = static_cast<int>(p.num_rows),
                   .cols = cols,
                   .w = p.w.row(output),
                   .num_outputs = static_cast<int>(num_outputs),
                   .bias = p.bias_at(output),
                   .y = p.y + output,
                   .y_stride = p.w.rows()};
    if (expand) {
      float* panel = panels + thread * panel_elems;
      dequantize(p.w.type(), job.w, {panel, static_cast<std::size_t>(num_outputs * cols)});
      job.type = tensor::DType::f32;
      job.w = reinterpret_cast<const std::byte*>(panel);
    }
    kernels.multiply_rows(job);
  };
  context.pool().run(static_cast<int>(divide_up(p.w.rows(), kPanel)), multiply_panel);
}

}  // namespace

void matmul(Context& context, std::span<const float> x, const Weight& w, std::span<const float> bias,
            std::span<float> y) {
  CHECK(w.rows() > 0, "an empty weight");
  const auto num_rows = static_cast<std::int64_t>(x.size()) / w.cols();
  CHECK(static_cast<std::int64_t>(x.size()) == num_rows * w.cols() &&
            static_cast<std::int64_t>(y.size()) == num_rows * w.rows(),
        "{} numbers times [{}, {}] into {}", x.size(), w.rows(), w.cols(), y.size());
  CHECK(bias.empty() || static_cast<std::int64_t>(bias.size()) == w.rows(), "a bias of {} for {} outputs",
        bias.size(), w.rows());
  if (num_rows == 0) return;
  const Product p = {x.data(), num_rows, w, bias.empty() ? nullptr : bias.data(), y.data()};
  if (w.borrows()) {
    multiply_rows(context, p);
    return;
  }
  const CpuKernels& kernels = cpu_kernels(context.isa());
  if (w.activations() == Activations::fine) {
    const bool panels = kernels.multiply_panel_fine != nullptr && has_whole_scales(w.type());
    if (panels && num_rows >= kMinFinePanelRows) {
      multiply_panels_fine(context, p);
    } else {
      multiply_tiles_fine(context, p);
    }
  } else if (num_rows >= kernels.min_panel_rows) {
    multiply_panels(context, p);
  } else {
    multiply_tiles(context, p);
  }
}

}  // namespace kvasir::ops

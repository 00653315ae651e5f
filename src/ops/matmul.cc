#include "ops/matmul.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/dequantize.h"
#include "ops/tile_format.h"

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
// What a thread takes at a time: little enough that the last piece is not long waited for.
constexpr std::int64_t kPieceBytes = 256 << 10;

// How the product of tiles is cut: chunks of activation rows, and in each, pieces of consecutive tiles.
struct Cut {
  int width;  // rows of a block of activations
  std::int64_t num_groups;
  std::int64_t num_blocks;
  std::int64_t chunk_blocks;
  std::int64_t num_chunks;
  std::int64_t num_tiles;
  std::int64_t piece_tiles;
  std::int64_t pieces_a_chunk;
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::int64_t tiles_a_piece(std::int64_t num_tiles, std::int64_t bytes_a_tile, int num_threads) {
  const std::int64_t most = std::max<std::int64_t>(1, kPieceBytes / bytes_a_tile);
  return std::clamp<std::int64_t>(num_tiles / (num_threads * 8), 1, most);
}

Cut cut(const Product& p, int width, int num_threads) {
  Cut c;
  c.width = width;
  c.num_groups = p.w.cols() / 32;
  c.num_blocks = divide_up(p.num_rows, c.width);
  const std::int64_t block_bytes =
      c.num_groups * c.width * static_cast<std::int64_t>(sizeof(ActivationGroup));
  c.chunk_blocks = std::clamp<std::int64_t>(kChunkBytes / block_bytes, 1, c.num_blocks);
  c.num_chunks = divide_up(c.num_blocks, c.chunk_blocks);
  c.num_tiles = divide_up(p.w.rows(), kTileRows);
  c.piece_tiles = tiles_a_piece(c.num_tiles, tile_bytes(p.w.type(), p.w.cols()), num_threads);
  c.pieces_a_chunk = divide_up(c.num_tiles, c.piece_tiles);
  return c;
}

void quantize_rows(Context& context, const Product& p, const Cut& c, ActivationGroup* out) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  context.pool().run(static_cast<int>(p.num_rows), [&](int row, int /*thread*/) {
    const std::int64_t block = row / c.width;
    kernels.quantize_row({.x = p.x + row * p.w.cols(),
                          .num_groups = c.num_groups,
                          .weight = p.w.type(),
                          .out = out + block * c.num_groups * c.width + row % c.width,
                          .width = c.width});
  });
}

void multiply_tiles(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int width = static_cast<int>(std::min<std::int64_t>(kMaxActivationWidth, p.num_rows));
  const Cut c = cut(p, width, context.pool().num_threads());
  const std::int64_t block_groups = c.num_groups * c.width;
  auto* x = reinterpret_cast<ActivationGroup*>(
      context.scratch(static_cast<std::size_t>(c.num_blocks * block_groups) * sizeof(ActivationGroup)));
  quantize_rows(context, p, c, x);

  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const auto multiply_piece = [&](int piece, int /*thread*/) {
    const std::int64_t first_block = piece / c.pieces_a_chunk * c.chunk_blocks;
    const std::int64_t end_block = std::min(c.num_blocks, first_block + c.chunk_blocks);
    const std::int64_t first_tile = piece % c.pieces_a_chunk * c.piece_tiles;
    const std::int64_t end_tile = std::min(c.num_tiles, first_tile + c.piece_tiles);
    for (std::int64_t tile = first_tile; tile < end_tile; ++tile) {
      const std::int64_t output = tile * kTileRows;
      for (std::int64_t block = first_block; block < end_block; ++block) {
        const std::int64_t row = block * c.width;
        kernels.multiply_tile(
            {.type = p.w.type(),
             .x = x + block * block_groups,
             .num_rows = static_cast<int>(std::min<std::int64_t>(c.width, p.num_rows - row)),
             .width = c.width,
             .num_groups = c.num_groups,
             .tile = p.w.tiles() + tile * bytes,
             .num_outputs = static_cast<int>(std::min<std::int64_t>(kTileRows, num_outputs - output)),
             .bias = p.bias_at(output),
             .y = p.y + row * num_outputs + output,
             .y_stride = num_outputs});
      }
    }
  };
  context.pool().run(static_cast<int>(c.num_chunks * c.pieces_a_chunk), multiply_piece);
}

// The fine activations of all rows: blocks of `width`, one after another.
struct FineRows {
  std::byte* data;
  int width;
  std::int64_t num_groups;
  std::int64_t num_blocks;

  std::int64_t block_bytes() const { return FineBlock::bytes(num_groups, width); }
  FineBlock block(std::int64_t i) const { return FineBlock::at(data + i * block_bytes(), num_groups, width); }
};

FineRows quantize_rows_fine(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  FineRows rows;
  rows.width = static_cast<int>(std::min<std::int64_t>(kMaxFineWidth, p.num_rows));
  rows.num_groups = p.w.cols() / 32;
  rows.num_blocks = divide_up(p.num_rows, rows.width);
  rows.data = context.scratch(static_cast<std::size_t>(rows.num_blocks * rows.block_bytes()));
  context.pool().run(static_cast<int>(p.num_rows), [&](int row, int /*thread*/) {
    kernels.quantize_row_fine({.x = p.x + row * p.w.cols(),
                               .num_groups = rows.num_groups,
                               .weight = p.w.type(),
                               .out = rows.block(row / rows.width),
                               .row = row % rows.width});
  });
  return rows;
}

void multiply_tiles_fine(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const FineRows x = quantize_rows_fine(context, p);
  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const std::int64_t num_tiles = divide_up(num_outputs, kTileRows);
  const std::int64_t chunk_blocks = std::clamp<std::int64_t>(kChunkBytes / x.block_bytes(), 1, x.num_blocks);
  const std::int64_t num_chunks = divide_up(x.num_blocks, chunk_blocks);
  const std::int64_t piece_tiles = tiles_a_piece(num_tiles, bytes, context.pool().num_threads());
  const std::int64_t pieces_a_chunk = divide_up(num_tiles, piece_tiles);
  const auto multiply_piece = [&](int piece, int /*thread*/) {
    const std::int64_t first_block = piece / pieces_a_chunk * chunk_blocks;
    const std::int64_t end_block = std::min(x.num_blocks, first_block + chunk_blocks);
    const std::int64_t first_tile = piece % pieces_a_chunk * piece_tiles;
    const std::int64_t end_tile = std::min(num_tiles, first_tile + piece_tiles);
    for (std::int64_t tile = first_tile; tile < end_tile; ++tile) {
      const std::int64_t output = tile * kTileRows;
      for (std::int64_t block = first_block; block < end_block; ++block) {
        const std::int64_t row = block * x.width;
        kernels.multiply_tile_fine(
            {.type = p.w.type(),
             .fine = x.block(block),
             .num_rows = static_cast<int>(std::min<std::int64_t>(x.width, p.num_rows - row)),
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

// From here on AMX is faster: fewer rows wait for memory, or leave a tile half empty.
constexpr std::int64_t kMinPanelRows = 24;

void multiply_panels(Context& context, const Product& p) {
  const CpuKernels& kernels = cpu_kernels(context.isa());
  const int num_threads = context.pool().num_threads();
  const Cut c = cut(p, kPanelBlock, num_threads);
  const std::int64_t block_groups = c.num_groups * kPanelBlock;
  const std::int64_t block_bytes = block_groups * static_cast<std::int64_t>(sizeof(ActivationGroup));
  std::byte* scratch = context.scratch(
      static_cast<std::size_t>(c.num_blocks * block_bytes + num_threads * kPanelScratchBytes));
  auto* x = reinterpret_cast<ActivationGroup*>(scratch);
  scratch += c.num_blocks * block_bytes;
  if (p.num_rows % kPanelBlock != 0) {
    std::memset(static_cast<void*>(x + (c.num_blocks - 1) * block_groups), 0,
                static_cast<std::size_t>(block_bytes));
  }
  quantize_rows(context, p, c, x);

  const std::int64_t bytes = tile_bytes(p.w.type(), p.w.cols());
  const std::int64_t num_outputs = p.w.rows();
  const std::int64_t panel_tiles =  // the kernel takes them in pairs
      std::clamp<std::int64_t>(c.num_tiles / (num_threads * 8) / 2 * 2, 2, kPanelTiles);
  const std::int64_t num_panels = divide_up(c.num_tiles, panel_tiles);
  const auto multiply_panel = [&](int piece, int thread) {
    const std::int64_t row = piece / num_panels * kPanelRows;
    const std::int64_t tile = piece % num_panels * panel_tiles;
    const std::int64_t output = tile * kTileRows;
    kernels.multiply_panel(
        {.type = p.w.type(),
         .x = x + row / kPanelBlock * block_groups,
         .num_rows = static_cast<int>(std::min<std::int64_t>(kPanelRows, p.num_rows - row)),
         .num_groups = c.num_groups,
         .tiles = p.w.tiles() + tile * bytes,
         .num_tiles = static_cast<int>(std::min(panel_tiles, c.num_tiles - tile)),
         .num_outputs = static_cast<int>(std::min(panel_tiles * kTileRows, num_outputs - output)),
         .bias = p.bias_at(output),
         .y = p.y + row * num_outputs + output,
         .y_stride = num_outputs,
         .scratch = scratch + thread * kPanelScratchBytes});
  };
  context.pool().run(static_cast<int>(divide_up(p.num_rows, kPanelRows) * num_panels), multiply_panel);
}

bool is_float(tensor::DType type) {
  return tensor::info(type).block_elems == 1;
}

// Panels of outputs; a quantised weight's panel becomes floats in the thread's own scratch.
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
  } else if (w.activations() == Activations::fine) {
    multiply_tiles_fine(context, p);
  } else if (num_rows >= kMinPanelRows && cpu_kernels(context.isa()).multiply_panel != nullptr) {
    multiply_panels(context, p);
  } else {
    multiply_tiles(context, p);
  }
}

}  // namespace kvasir::ops

#include "ops/head_matmul.h"

#include <algorithm>

#include "base/check.h"
#include "ops/cpu/cpu_kernels.h"

namespace kvasir::ops {

namespace {

constexpr std::int64_t kRowsAPiece = 32;

}  // namespace

void head_matmul(Context& context, const HeadMatmulArgs& args) {
  CHECK(args.w.shape.size() == 3 && tensor::info(args.w.type).block_elems == 1, "a weight for each head");
  const std::int64_t num_heads = args.w.shape[0];
  const std::int64_t num_outputs = args.w.shape[1];
  const std::int64_t cols = args.w.shape[2];
  const std::int64_t x_row = num_heads * args.x_rows.stride;
  const std::int64_t y_row = num_heads * args.y_rows.stride;
  const std::int64_t num_rows = static_cast<std::int64_t>(args.x.size()) / x_row;
  CHECK(static_cast<std::int64_t>(args.x.size()) == num_rows * x_row &&
            static_cast<std::int64_t>(args.y.size()) == num_rows * y_row,
        "{} heads of {} into {}", num_heads, args.x.size(), args.y.size());
  CHECK(args.x_rows.offset + cols <= args.x_rows.stride &&
            args.y_rows.offset + num_outputs <= args.y_rows.stride,
        "[{}, {}] between heads of {} and {}", num_outputs, cols, args.x_rows.stride, args.y_rows.stride);

  const CpuKernels& kernels = cpu_kernels(context.isa());
  const std::int64_t pieces_a_head = (num_rows + kRowsAPiece - 1) / kRowsAPiece;
  const std::int64_t head_bytes = tensor::bytes_of(args.w.type, num_outputs * cols);
  const std::int64_t scratch_floats = (kRowsAPiece * cols + 15) / 16 * 16;
  auto* scratch = reinterpret_cast<float*>(context.scratch(
      static_cast<std::size_t>(scratch_floats * context.pool().num_threads()) * sizeof(float)));
  context.pool().run(static_cast<int>(num_heads * pieces_a_head), [&](int piece, int thread) {
    const std::int64_t head = piece / pieces_a_head;
    const std::int64_t first = piece % pieces_a_head * kRowsAPiece;
    const std::int64_t count = std::min(kRowsAPiece, num_rows - first);
    float* gathered = scratch + thread * scratch_floats;
    for (std::int64_t r = 0; r < count; ++r) {
      const float* from =
          args.x.data() + (first + r) * x_row + head * args.x_rows.stride + args.x_rows.offset;
      std::copy_n(from, cols, gathered + r * cols);
    }
    kernels.multiply_rows(
        {.type = args.w.type,
         .x = gathered,
         .num_rows = static_cast<int>(count),
         .cols = cols,
         .w = args.w.data + head * head_bytes,
         .num_outputs = static_cast<int>(num_outputs),
         .y = args.y.data() + first * y_row + head * args.y_rows.stride + args.y_rows.offset,
         .y_stride = y_row});
  });
}

}  // namespace kvasir::ops

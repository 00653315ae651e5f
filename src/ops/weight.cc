#include "ops/weight.h"

#include <algorithm>

#include "base/check.h"
#include "ops/quant/tile_format.h"

namespace kvasir::ops {

using base::ErrorCode;

base::Result<Weight> Weight::prepare(const tensor::TensorView& view, Precision precision, ComputePool* pool) {
  const tensor::DTypeInfo& info = tensor::info(view.type);
  if (view.data == nullptr || view.shape.empty() || view.shape.size() > 2) {
    return base::error(ErrorCode::invalid_argument, "a weight has one or two dimensions, not {}",
                       view.shape.size());
  }
  Weight w;
  w.type_ = view.type;
  w.rows_ = view.rows();
  w.cols_ = view.cols();
  if (w.rows_ <= 0 || w.cols_ <= 0 || w.cols_ % info.block_elems != 0) {
    return base::error(ErrorCode::invalid_argument, "a weight of {} rows and {} columns cannot be {}",
                       w.rows_, w.cols_, info.name);
  }
  w.data_ = view.data;
  if (precision == Precision::exact || tile_info(w.type_).block_bytes == 0) return w;

  const std::int64_t num_tiles = (w.rows_ + kTileRows - 1) / kTileRows;
  const std::int64_t bytes = tile_bytes(w.type_, w.cols_);
  w.tiles_ = tensor::Buffer(static_cast<std::size_t>(num_tiles * bytes));
  const auto pack_one = [&](int tile, int /*thread*/) {
    const std::int64_t row = static_cast<std::int64_t>(tile) * kTileRows;
    const auto num_rows = static_cast<int>(std::min<std::int64_t>(kTileRows, w.rows_ - row));
    pack_tile(view.type, w.row(row), num_rows, w.cols_, w.tiles_.data() + tile * bytes);
  };
  if (pool != nullptr) {
    pool->run(static_cast<int>(num_tiles), pack_one);
  } else {
    for (int tile = 0; tile < num_tiles; ++tile) pack_one(tile, 0);
  }
  w.type_ = tile_type(view.type);
  w.data_ = nullptr;
  w.activations_ = precision == Precision::fine ? Activations::fine : Activations::bytes;
  return w;
}

const std::byte* Weight::row(std::int64_t r) const {
  CHECK(data_ != nullptr && r >= 0 && r < rows_, "row {} of {}", r, rows_);
  return data_ + r * tensor::bytes_of(type_, cols_);
}

}  // namespace kvasir::ops

#include "model/cuda/step_upload.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvasir::model {

using ops::cuda::AttentionItem;
using ops::cuda::kBlockTokens;
using ops::cuda::kTileRows;
using ops::cuda::SliceView;

bool StepUpload::is_decode(const StepBatch& batch) {
  const bool single = std::all_of(batch.slices.begin(), batch.slices.end(),
                                  [](const StepBatch::Slice& slice) { return slice.num_rows == 1; });
  return single && batch.logit_rows.size() == batch.slices.size();
}

int StepUpload::split_tokens(const StepBatch& batch) {
  // Steps with more than this many slices are never padded to the same number of rows as steps with fewer.
  constexpr std::size_t kMany = 64;
  return batch.slices.size() > kMany ? ops::cuda::kLongSplitTokens : ops::cuda::kSplitTokens;
}

int StepUpload::count_split_items(const StepBatch& batch) const {
  if (single_rows_ != SingleRows::split) return 0;
  const int part_tokens = split_tokens(batch);
  int count = 0;
  for (const StepBatch::Slice& slice : batch.slices)
    if (slice.num_rows == 1) count += slice.num_computed / part_tokens + 1;
  return count;
}

void StepUpload::add_items(const SliceView& slice, std::span<const std::int32_t> blocks) {
  if (slice.num_rows != 1 || single_rows_ != SingleRows::split) {
    for (int part = 0; part * kTileRows < slice.num_rows * group_; ++part)
      tile_items_.push_back({slice, part});
    view_.longest_tile = std::max(view_.longest_tile, slice.num_computed + slice.num_rows);
    return;
  }
  const auto part_blocks = static_cast<std::size_t>(view_.split_tokens / kBlockTokens);
  for (int part = 0; part <= slice.num_computed / view_.split_tokens; ++part) {
    split_items_.push_back({slice, part});
    const auto own = blocks.subspan(static_cast<std::size_t>(part) * part_blocks);
    const auto count = std::min(own.size(), part_blocks);
    split_blocks_.insert(split_blocks_.end(), own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
    split_blocks_.resize(split_items_.size() * part_blocks);
  }
}

void StepUpload::take_apart(const StepBatch& batch, StepPadding padding) {
  tokens_.assign(batch.tokens.begin(), batch.tokens.end());
  rows_wanted_ = batch.logit_rows;
  for (auto* list : {&positions_, &row_slices_, &slots_, &blocks_, &split_blocks_}) list->clear();
  slices_.clear();
  split_items_.clear();
  tile_items_.clear();
  view_.longest_tile = 0;
  view_.split_tokens = split_tokens(batch);
  for (const StepBatch::Slice& slice : batch.slices) {
    const auto index = static_cast<std::int32_t>(slices_.size());
    slices_.push_back({slice.first_row, slice.num_rows, slice.num_computed,
                       static_cast<std::int32_t>(blocks_.size()),
                       static_cast<std::int32_t>(split_items_.size())});
    add_items(slices_.back(), slice.blocks);
    for (int row = 0; row < slice.num_rows; ++row) {
      const int position = slice.num_computed + row;
      positions_.push_back(position);
      row_slices_.push_back(index);
      slots_.push_back(slice.blocks[static_cast<std::size_t>(position / kBlockTokens)] * kBlockTokens +
                       position % kBlockTokens);
    }
    const int num_blocks = (slice.num_computed + slice.num_rows + kBlockTokens - 1) / kBlockTokens;
    blocks_.insert(blocks_.end(), slice.blocks.begin(), slice.blocks.begin() + num_blocks);
  }
  if (padding.rows == 0) return;
  // The padding's rows and items belong to an empty slice, whose index does not depend on the number of real
  // slices.
  const auto rows = static_cast<std::size_t>(padding.rows);
  const auto empty = static_cast<std::int32_t>(padding.rows);
  slices_.resize(rows + 1);
  tokens_.resize(rows, 0);
  positions_.resize(rows, 0);
  row_slices_.resize(rows, empty);
  slots_.resize(rows, -1);
  rows_wanted_.resize(rows, 0);
  split_items_.resize(static_cast<std::size_t>(padding.split_items), AttentionItem{});
  split_blocks_.resize(split_items_.size() * static_cast<std::size_t>(view_.split_tokens / kBlockTokens));
}

template <class T>
const T* StepUpload::place(const std::vector<T>& values, std::size_t& at) const {
  const std::size_t bytes = values.size() * sizeof(T);
  if (bytes > 0) std::memcpy(host_.data() + at, values.data(), bytes);
  const T* there = reinterpret_cast<const T*>(device_.data() + at);
  at += (bytes + 15) / 16 * 16;
  return there;
}

base::Status StepUpload::reserve(std::size_t bytes, ops::cuda::StreamHandle stream) {
  if (host_.size() >= bytes) return base::ok();
  const std::size_t size = std::max(2 * bytes, std::size_t{1} << 20);
  ops::cuda::wait_for(stream);
  TRY(host_, ops::cuda::PinnedBuffer::allocate(size));
  TRY(other_host_, ops::cuda::PinnedBuffer::allocate(size));
  TRY(device_, ops::cuda::DeviceBuffer::allocate(size));
  ++generation_;
  return base::ok();
}

std::size_t StepUpload::lay_out() {
  std::size_t at = 0;
  view_.rows = static_cast<int>(tokens_.size());
  view_.tokens = place(tokens_, at);
  view_.positions = place(positions_, at);
  view_.row_slices = place(row_slices_, at);
  view_.slots = place(slots_, at);
  view_.slices = place(slices_, at);
  view_.split_items = place(split_items_, at);
  view_.split_blocks = place(split_blocks_, at);
  view_.num_split_items = static_cast<int>(split_items_.size());
  view_.tile_items = place(tile_items_, at);
  view_.num_tile_items = static_cast<int>(tile_items_.size());
  logit_rows_ = place(rows_wanted_, at);
  num_logit_rows_ = static_cast<int>(rows_wanted_.size());
  view_.blocks = place(blocks_, at);
  return at;
}

base::Status StepUpload::send(const StepBatch& batch, StepPadding padding, ops::cuda::StreamHandle stream) {
  std::swap(host_, other_host_);
  take_apart(batch, padding);
  const std::size_t numbers =
      4 * tokens_.size() + rows_wanted_.size() + blocks_.size() + split_blocks_.size();
  TRY_OK(reserve(numbers * sizeof(std::int32_t) + slices_.size() * sizeof(SliceView) +
                     (split_items_.size() + tile_items_.size()) * sizeof(AttentionItem) + 16 * 16,
                 stream));
  const std::size_t bytes = lay_out();
  ops::cuda::copy_to_device(stream, device_.data(), host_.data(), bytes);
  return base::ok();
}

}  // namespace kvasir::model

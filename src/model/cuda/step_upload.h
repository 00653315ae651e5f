#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/decoder/device_decoder.h"
#include "model/decoder/step_batch.h"
#include "ops/cuda/device.h"
#include "ops/cuda/sample.h"
#include "ops/cuda/step_view.h"

namespace kvasir::model {

// Sizes that a step is filled up to, so that a recorded graph serves many. Zeros: as it is.
struct StepPadding {
  int rows = 0;
  int split_items = 0;
};

// Takes steps apart on the host and sends each to the device with one copy. Parts stand at places that the
// padding alone decides, but for the sequences' blocks, which come last.
class StepUpload {
 public:
  enum class SingleRows : std::uint8_t { split, tiled };
  // `group`: heads of a KV head.
  StepUpload(int group, SingleRows single_rows) : group_(group), single_rows_(single_rows) {}

  // Whether every slice is one row and wants its logits.
  static bool is_decode(const StepBatch& batch);
  int count_split_items(const StepBatch& batch) const;
  static int split_tokens(const StepBatch& batch);

  // `view`, the rows whose logits are wanted and their draws are this step's until the next call. Of the
  // steps sent before, the last one alone may not be done. Waits where the memory has to grow, else for
  // nothing.
  base::Status send(const StepBatch& batch, std::span<const RowDraw> draws, StepPadding padding,
                    ops::cuda::StreamHandle stream);
  const ops::cuda::StepView& view() const { return view_; }
  const std::int32_t* logit_rows() const { return logit_rows_; }
  int num_logit_rows() const { return num_logit_rows_; }
  const ops::cuda::RowDraw* draws() const { return placed_draws_; }  // [num_logit_rows]
  // Grows by one whenever the memory is another.
  int generation() const { return generation_; }

 private:
  void take_apart(const StepBatch& batch, std::span<const RowDraw> draws, StepPadding padding);
  void add_items(const ops::cuda::SliceView& slice, std::span<const std::int32_t> blocks);
  template <class T>
  const T* place(const std::vector<T>& values, std::size_t& at) const;
  base::Status reserve(std::size_t bytes, ops::cuda::StreamHandle stream);
  std::size_t lay_out();

  const int group_;
  const SingleRows single_rows_;
  std::vector<std::int32_t> tokens_, positions_, row_slices_, slots_, rows_wanted_, blocks_, split_blocks_;
  std::vector<ops::cuda::SliceView> slices_;
  std::vector<ops::cuda::AttentionItem> split_items_, tile_items_;
  std::vector<ops::cuda::RowDraw> draws_;
  ops::cuda::PinnedBuffer host_;  // and the one before: its copy may be on its way
  ops::cuda::PinnedBuffer other_host_;
  ops::cuda::DeviceBuffer device_;
  int generation_ = 0;
  ops::cuda::StepView view_;
  const std::int32_t* logit_rows_ = nullptr;
  int num_logit_rows_ = 0;
  const ops::cuda::RowDraw* placed_draws_ = nullptr;
};

}  // namespace kvasir::model

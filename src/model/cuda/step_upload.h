#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/decoder/step_batch.h"
#include "ops/cuda/device.h"
#include "ops/cuda/step_view.h"

namespace kvasir::model {

// The sizes to which a step is padded, so that one recorded graph serves many steps. 0: no padding.
struct StepPadding {
  int rows = 0;
  int split_items = 0;
};

// Prepares steps on the host and sends each to the device with one copy. The place of a part in the memory
// depends on the padding alone, except for the sequences' blocks, which come last.
class StepUpload {
 public:
  enum class SingleRows : std::uint8_t { split, tiled };
  // `group` is the number of query heads that share a KV head.
  StepUpload(int group, SingleRows single_rows) : group_(group), single_rows_(single_rows) {}

  // Whether every slice is one row and wants its logits.
  static bool is_decode(const StepBatch& batch);
  int count_split_items(const StepBatch& batch) const;
  static int split_tokens(const StepBatch& batch);

  // `view` and the logit rows describe this step until the next call. The step sent before may still be
  // running, but no earlier one. Waits only if the memory has to grow.
  base::Status send(const StepBatch& batch, StepPadding padding, ops::cuda::StreamHandle stream);
  const ops::cuda::StepView& view() const { return view_; }
  const std::int32_t* logit_rows() const { return logit_rows_; }
  int num_logit_rows() const { return num_logit_rows_; }
  // Increases by one whenever the memory is allocated again, which changes the addresses in recorded graphs.
  int generation() const { return generation_; }

 private:
  void take_apart(const StepBatch& batch, StepPadding padding);
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
  // These two are used in turn, because the copy of the step before may not be done.
  ops::cuda::PinnedBuffer host_;
  ops::cuda::PinnedBuffer other_host_;
  ops::cuda::DeviceBuffer device_;
  int generation_ = 0;
  ops::cuda::StepView view_;
  const std::int32_t* logit_rows_ = nullptr;
  int num_logit_rows_ = 0;
};

}  // namespace kvasir::model

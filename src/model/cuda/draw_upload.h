#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "model/decoder/packed_draws.h"
#include "ops/cuda/device.h"
#include "ops/draw/row_draw.h"

namespace kvasir::model {

// Prepares a step's draws on the host and sends them with one copy, which runs at the same time as the step's
// products.
class DrawUpload {
 public:
  // The stream waits for the copy. The draws stay in memory until the second call after this one, so of the
  // earlier calls' draws, only the last call's may still be in use. Waits only if the memory has to grow.
  base::Status send(std::span<const RowDraw> draws, int vocab_size, int num_histories,
                    ops::cuda::StreamHandle stream);
  // Sets the addresses of the draws and their lists in `args`.
  void place(ops::DrawArgs& args) const;

 private:
  struct Memory {
    ops::cuda::PinnedBuffer host;
    ops::cuda::DeviceBuffer device;
  };
  // The byte at which each part begins.
  struct Layout {
    std::size_t draws = 0, counted = 0, biases = 0, masks = 0, end = 0;
  };

  base::Status reserve(ops::cuda::StreamHandle stream);

  PackedDraws packed_;
  Layout layout_;
  Memory memory_, other_memory_;  // used in turn: the step before may still read the other
  ops::cuda::Stream copies_;
  ops::cuda::Event sent_;
};

}  // namespace kvasir::model

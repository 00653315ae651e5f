#pragma once

#include "ops/cuda/bulk.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/lone_row.h"
#include "ops/cuda/lone_words.cuh"

// Brings the weights to the warps in a step of one row.
namespace kvasir::ops::cuda {

inline constexpr int kLoneWarps = 8;  // few, so that all their numbers fit into registers
inline constexpr int kLoneThreads = 32 * kLoneWarps;
inline constexpr int kLoneSlots = 6;
inline constexpr int kLoneSlotBytes = 4096;
inline constexpr int kLoneMinPieceBytes = kLoneSlotBytes / 2;  // applies if a row has several pieces

// A warp takes whole rows of a product's weights, in pieces and two rows at a time. With a gate, these are a
// row and its partner; otherwise, the warp's next two rows.
struct LoneShape {
  int units = 0;  // rows, or with a gate pairs of rows
  bool gated = false;
  int row_bytes = 0;
  int pieces = 0;  // pieces of a row
  int piece_bytes = 0;
};

struct LoneKernelArgs : LoneRowArgs {
  LoneShape shapes[kLoneLayerProducts + 1];
  // What thread blocks pass to each other (lone_words.cuh).
  std::uint32_t* state = nullptr;  // [hidden]
  std::uint32_t* qkv = nullptr;
  std::uint32_t* attention = nullptr;
  std::uint32_t* between = nullptr;    // [inner]
  TaggedFloat* partials = nullptr;     // results of attention's parts
  std::uint32_t* num_steps = nullptr;  // steps completed so far
  std::uint32_t* num_given = nullptr;  // parts of the arrays above published so far
  std::uint32_t* num_left = nullptr;   // thread blocks that have finished this step
};

// Brings one warp its pieces in the order in which it needs them, over all layers. A few pieces are always in
// shared memory or under way, whatever the warp waits for.
class LoneSupply {
 public:
  // `ready` has kLoneSlots barriers.
  __device__ LoneSupply(const LoneKernelArgs& args, unsigned char* slots, Barrier* ready)
      : args_(args), slots_(slots), ready_(ready), is_first_lane_(threadIdx.x % 32 == 0) {
    if (is_first_lane_) {
      for (int i = 0; i < kLoneSlots; ++i) make_barrier(ready + i);
      publish_barriers();
    }
    __syncwarp();
    next_w_ = weights_of(0);
    enter_next();
    for (int i = 0; i < kLoneSlots; ++i) fetch(i);
  }

  // Units are assigned to the warps of all thread blocks in turn.
  __device__ static int first_unit() { return static_cast<int>(threadIdx.x / 32 * gridDim.x + blockIdx.x); }
  __device__ static int stride() { return static_cast<int>(kLoneWarps * gridDim.x); }

  // Waits for the oldest piece. All lanes must have read it before release().
  __device__ const uint4* await() const { return await(slot_, phase_); }
  // Waits for the piece after the oldest.
  __device__ const uint4* await_second() const {
    return slot_ + 1 < kLoneSlots ? await(slot_ + 1, phase_) : await(0, phase_ ^ 1);
  }
  __device__ void release(int count) {
    __syncwarp();
#pragma unroll 1
    for (; count > 0; --count) {
      fetch(slot_);
      if (++slot_ < kLoneSlots) continue;
      slot_ = 0;
      phase_ ^= 1;
    }
  }

 private:
  __device__ const uint4* await(int slot, std::uint32_t phase) const {
    wait_for_phase(ready_ + slot, phase);
    return reinterpret_cast<const uint4*>(slots_ + slot * kLoneSlotBytes);
  }
  __device__ const unsigned char* weights_of(int product) const {
    const int layer = product / kLoneLayerProducts;
    if (layer < args_.num_layers)
      return static_cast<const unsigned char*>(args_.layers[layer].w[product % kLoneLayerProducts]);
    const bool is_last = product == args_.num_layers * kLoneLayerProducts;
    return is_last ? static_cast<const unsigned char*>(args_.output) : nullptr;
  }
  // Goes on to the next product that has rows for the warp.
  __device__ void enter_next() {
    const LoneShape* shape = nullptr;
    int unit = first_unit();
    do {
      at_ = next_w_;
      if (at_ == nullptr) return;
      const bool is_last = ++product_ == args_.num_layers * kLoneLayerProducts;
      shape = &args_.shapes[is_last ? kLoneVocabulary : product_ % kLoneLayerProducts];
      next_w_ = weights_of(product_ + 1);
    } while (unit >= shape->units);
    at_ += static_cast<std::int64_t>(unit) * shape->row_bytes;
    const std::int64_t step = static_cast<std::int64_t>(stride()) * shape->row_bytes;
    rows_left_ = (shape->units - unit + stride() - 1) / stride() * (shape->gated ? 2 : 1);
    piece_bytes_ = shape->piece_bytes;
    num_pieces_ = pieces_left_ = shape->pieces;
    to_partner_ = shape->gated ? static_cast<std::int64_t>(shape->units) * shape->row_bytes : step;
    to_next_ = (shape->gated ? step : 2 * step) - shape->row_bytes;
    in_partner_ = false;
  }

  // Fetches a piece of a row, then that of its partner.
  __device__ void fetch(int slot) {
    if (at_ == nullptr) return;
    if (is_first_lane_) {
      expect_bytes(ready_ + slot, piece_bytes_);
      copy_bulk(slots_ + slot * kLoneSlotBytes, in_partner_ ? at_ + to_partner_ : at_, piece_bytes_,
                ready_ + slot, policy_);
    }
    in_partner_ = !in_partner_ && rows_left_ > 1;
    if (in_partner_) return;
    at_ += piece_bytes_;
    if (--pieces_left_ > 0) return;
    pieces_left_ = num_pieces_;
    at_ += to_next_;
    rows_left_ -= 2;
    if (rows_left_ <= 0) enter_next();
  }

  const LoneKernelArgs& args_;
  unsigned char* const slots_;
  Barrier* const ready_;
  const bool is_first_lane_;
  const std::uint64_t policy_ = read_once_policy();
  int slot_ = 0;  // slot of the oldest piece
  std::uint32_t phase_ = 0;
  // The piece that is fetched next.
  const unsigned char* at_ = nullptr;  // null: there are no more pieces
  const unsigned char* next_w_ = nullptr;
  int product_ = -1;
  int rows_left_ = 0;
  int pieces_left_ = 0;  // pieces left of the row
  int num_pieces_ = 0;
  int piece_bytes_ = 0;
  bool in_partner_ = false;
  std::int64_t to_partner_ = 0;  // bytes from a row to the row that is taken with it
  std::int64_t to_next_ = 0;     // bytes from a row's end to the next pair
};

}  // namespace kvasir::ops::cuda

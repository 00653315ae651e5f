#pragma once

#include "ops/cuda/lone_supply.cuh"

namespace kvasir::ops::cuda {

inline constexpr int kLoneMaxCols = 16384;
inline constexpr int kLoneMaxHidden = 8192;
inline constexpr int kLoneMaxGroup = 8;  // query heads of a KV head
inline constexpr int kLoneMaxDim = 128;  // numbers in a head
// A thread block combines sums of at most this many heads times warps.
inline constexpr int kLoneSums = 64;

__device__ inline void prefetch_line(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// Rows of the hidden state that one warp owns.
inline constexpr int kLoneOwnRows = 8;

struct alignas(128) LoneShared {
  unsigned char ring[kLoneWarps][kLoneSlots][kLoneSlotBytes];
  union {
    // The packed input of a product. For e4m3, the first eight numbers of every chunk come first, then the
    // second eight of every chunk.
    uint4 x[kLoneMaxCols / 8];
    __nv_bfloat16 heads[(kLoneMaxGroup + 2) * kLoneMaxDim];  // queries, then key and value, of head_dim each
    float sums[kLoneSums][kLoneMaxDim];
  };
  float tops[kLoneSums];
  float totals[kLoneSums];
  LoneLayer layers[2];  // the current layer and the next
  float ropes[2][kLoneMaxDim];
  float states[kLoneWarps][kLoneOwnRows];  // the rows of the hidden state that the warp owns
  float scratch[2 * kLoneWarps];
  int num_done;  // warps that have finished a product
  Barrier ready[kLoneWarps][kLoneSlots];
};
static_assert(sizeof(LoneShared) <= 227 << 10);

}  // namespace kvasir::ops::cuda

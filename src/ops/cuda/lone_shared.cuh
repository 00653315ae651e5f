#pragma once

#include "ops/cuda/lone_supply.cuh"

namespace kvasir::ops::cuda {

inline constexpr int kLoneMaxCols = 16384;
inline constexpr int kLoneMaxHidden = 8192;
inline constexpr int kLoneMaxGroup = 8;  // heads of a KV head
inline constexpr int kLoneMaxDim = 128;  // of a head
// Heads times warps whose sums a thread block puts together.
inline constexpr int kLoneSums = 64;

__device__ inline void prefetch_line(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// Rows of the hidden state that are one warp's.
inline constexpr int kLoneOwnRows = 8;

struct alignas(128) LoneShared {
  unsigned char ring[kLoneWarps][kLoneSlots][kLoneSlotBytes];
  union {
    uint4 x[kLoneMaxCols /
            8];  // what is multiplied, packed: of e4m3's the first parts of all, then the second ones
    __nv_bfloat16 heads[(kLoneMaxGroup + 2) * kLoneMaxDim];  // queries, key, value, of head_dim each
    float sums[kLoneSums][kLoneMaxDim];
  };
  float tops[kLoneSums];
  float totals[kLoneSums];
  LoneLayer layers[2];  // this one and the next
  float ropes[2][kLoneMaxDim];
  float states[kLoneWarps][kLoneOwnRows];  // the hidden state, as far as it is the warp's
  float scratch[2 * kLoneWarps];
  int num_done;  // warps with what the thread block has of a product
  Barrier ready[kLoneWarps][kLoneSlots];
};
static_assert(sizeof(LoneShared) <= 227 << 10);

}  // namespace kvasir::ops::cuda

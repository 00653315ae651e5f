#pragma once

#include "ops/cuda/lone_supply.cuh"

namespace kvasir::ops::cuda {

inline constexpr int kLoneMaxCols = 16384;
inline constexpr int kLoneMaxGroup = 8;  // heads of a KV head
inline constexpr int kLoneMaxDim = 128;  // of a head
// Heads times warps whose sums a thread block puts together.
inline constexpr int kLoneSums = 64;

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
  float scratch[33];
  int is_last;
  Barrier ready[kLoneWarps][kLoneSlots];
};

static_assert(sizeof(LoneShared) <= 227 << 10);

// Waits of thread blocks for each other.
struct LoneGrid {
  std::int32_t* counter;
  std::int32_t target = 0;  // arrivals that are waited for

  // By all threads: what they wrote is there for who waits for it.
  __device__ void arrive() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    atomicAdd(counter, 1);
  }
  __device__ void wait() const {
    if (threadIdx.x == 0) {
      std::int32_t seen = 0;
      do {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
      } while (seen < target);
    }
    __syncthreads();
  }
};

}  // namespace kvasir::ops::cuda

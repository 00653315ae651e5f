#pragma once

#include <cstdint>

#include "ops/cuda/bulk.cuh"

// Products that four warps make together of tiles in shared memory, as sm_90a has them. A tile's rows have 64
// numbers of bf16, so eight chunks of 16 bytes, of which chunk c of row r stands at c ^ (r % 8); it begins at
// a multiple of 1,024 bytes.
namespace kvasir::ops::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

inline constexpr int kTileDepth = 16;  // numbers of a row that one product takes

// Of the numbers from kTileDepth * k on.
__device__ inline std::uint64_t describe_tile(const void* tile, int k) {
  constexpr std::uint64_t kChunksInTurn = 1ull << 62;
  constexpr std::uint64_t kEightRows = 1024 / 16;
  const std::uint64_t start = (shared_address(tile) + k * kTileDepth * 2) & 0x3ffff;
  return kChunksInTurn | kEightRows << 32 | 1ull << 16 | start / 16;
}

// What was written to tiles through cp.async is seen by products after it.
__device__ inline void show_tiles() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until all but the last kPending groups that end_products() has ended are done.
template <int kPending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// clang-format off
#define KVASIR_SUMS_8(i) \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), \
  "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define KVASIR_SUMS \
  KVASIR_SUMS_8(0), KVASIR_SUMS_8(8), KVASIR_SUMS_8(16), KVASIR_SUMS_8(24), \
  KVASIR_SUMS_8(32), KVASIR_SUMS_8(40), KVASIR_SUMS_8(48), KVASIR_SUMS_8(56)
#define KVASIR_PRODUCT_OF_SUMS \
  "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}"
// clang-format on

// c = or += a b, with a of 64 rows and b of 128: c[4 * n + 2 * half + e] is that of row
// 16 * warp + lane / 4 + 8 * half of a and row 8 * n + 2 * (lane % 4) + e of b. `adds` is 0 or 1.
__device__ inline void multiply_tiles(float (&c)[64], std::uint64_t a, std::uint64_t b, int adds) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n" KVASIR_PRODUCT_OF_SUMS
      ", %64, %65, p, 1, 1, 0, 0;\n"
      "}"
      : KVASIR_SUMS
      : "l"(a), "l"(b), "r"(adds));
}

// The same with a in registers, always added: a[0] and a[2] are two neighbours each of row lane / 4 of the
// warp, from columns 2 * (lane % 4) and eight more, a[1] and a[3] those of the row eight below.
__device__ inline void multiply_tiles(float (&c)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(KVASIR_PRODUCT_OF_SUMS ", {%64,%65,%66,%67}, %68, 1, 1, 1, 0;\n"
               : KVASIR_SUMS
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef KVASIR_SUMS_8
#undef KVASIR_SUMS
#undef KVASIR_PRODUCT_OF_SUMS

template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

#endif

// Until all threads of a warpgroup have come; `number` is from 1 to 15, another for each warpgroup.
__device__ inline void sync_warpgroup(int number) {
  asm volatile("bar.sync %0, 128;" ::"r"(number) : "memory");
}

// Comes to the barrier when all that this thread has begun to copy is there.
__device__ inline void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
__device__ inline void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

}  // namespace kvasir::ops::cuda

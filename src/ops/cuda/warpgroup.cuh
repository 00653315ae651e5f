#pragma once

#include <cuda.h>

#include <cstdint>

#include "ops/cuda/bulk.cuh"
#include "ops/cuda/launch.cuh"

// Products that four warps compute together from tiles in shared memory, on sm_90a. A tile's rows have 128
// bytes, for example 64 numbers of bf16 in eight chunks. Chunk c of row r is at place c ^ (r % 8). A tile
// begins at a multiple of 1,024 bytes.
namespace kvasir::ops::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Numbers of a row that one product takes, for bf16; for e4m3 it takes twice as many.
inline constexpr int kTileDepth = 16;

// The descriptor of a tile's numbers from kTileDepth * k on.
__device__ inline std::uint64_t describe_tile(const void* tile, int k) {
  constexpr std::uint64_t kChunksInTurn = 1ull << 62;
  constexpr std::uint64_t kEightRows = 1024 / 16;
  const std::uint64_t start = (shared_address(tile) + k * kTileDepth * 2) & 0x3ffff;
  return kChunksInTurn | kEightRows << 32 | 1ull << 16 | start / 16;
}

// Begins to copy a box of the matrix, whose first number is at `row` and `col`, by the copy engine.
__device__ inline void copy_tile(void* to, const CUtensorMap& from, int col, int row, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(shared_address(to)),
      "l"(&from), "r"(col), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

// Makes what threads wrote to tiles, or copied by cp.async, visible to later products.
__device__ inline void show_tiles() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until all but the last kPending groups of products are done. end_products() ends a group.
template <int kPending>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// clang-format off
#define KVASIR_SUMS_8(i) \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), \
  "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define KVASIR_SUMS_16(i) KVASIR_SUMS_8(i), KVASIR_SUMS_8(i + 8)
#define KVASIR_SUMS_32(i) KVASIR_SUMS_16(i), KVASIR_SUMS_16(i + 16)
#define KVASIR_SUMS_64(i) KVASIR_SUMS_32(i), KVASIR_SUMS_32(i + 32)
#define KVASIR_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define KVASIR_NAMES_16 KVASIR_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define KVASIR_NAMES_32 KVASIR_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KVASIR_NAMES_64 KVASIR_NAMES_32 \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// The `count` sums are the first operands of the instruction; a, b and adds follow them.
#define KVASIR_MULTIPLY(kind, end, count, a_name, b_name, adds_name) \
  asm volatile( \
      "{\n" \
      ".reg .pred p;\n" \
      "setp.ne.b32 p, " adds_name ", 0;\n" \
      "wgmma.mma_async.sync.aligned." kind " {" KVASIR_NAMES_##count "}, " a_name ", " b_name ", p, 1, 1" end ";\n" \
      "}" \
      : KVASIR_SUMS_##count(0) \
      : "l"(a), "l"(b), "r"(adds))
#define KVASIR_MULTIPLY_BOTH(rows, count, a_name, b_name, adds_name) \
  if constexpr (sizeof(Number) == 2) \
    KVASIR_MULTIPLY("m64n" rows "k16.f32.bf16.bf16", ", 0, 0", count, a_name, b_name, adds_name); \
  else \
    KVASIR_MULTIPLY("m64n" rows "k32.f32.e4m3.e4m3", "", count, a_name, b_name, adds_name)
// clang-format on

// c = a b if `adds` is 0, or c += a b if it is 1. a has 64 rows and b has kRows, of bf16 or e4m3. c[4 * n + 2
// * half + e] is for row 16 * warp + lane / 4 + 8 * half of a and row 8 * n + 2 * (lane % 4) + e of b.
template <class Number, int kRows>
__device__ inline void multiply_tiles_of(float (&c)[kRows / 2], std::uint64_t a, std::uint64_t b, int adds) {
  static_assert(kRows == 16 || kRows == 32 || kRows == 64 || kRows == 128);
  if constexpr (kRows == 16) {
    KVASIR_MULTIPLY_BOTH("16", 8, "%8", "%9", "%10");
  } else if constexpr (kRows == 32) {
    KVASIR_MULTIPLY_BOTH("32", 16, "%16", "%17", "%18");
  } else if constexpr (kRows == 64) {
    KVASIR_MULTIPLY_BOTH("64", 32, "%32", "%33", "%34");
  } else {
    KVASIR_MULTIPLY_BOTH("128", 64, "%64", "%65", "%66");
  }
}
__device__ inline void multiply_tiles(float (&c)[64], std::uint64_t a, std::uint64_t b, int adds) {
  multiply_tiles_of<Bf16, 128>(c, a, b, adds);
}

// c += a b, with a in registers. a[0] and a[2] each have two neighbouring numbers of row lane / 4 of the
// warp: from column 2 * (lane % 4) on, and from eight columns later on. a[1] and a[3] have those of the row
// eight below.
__device__ inline void multiply_tiles(float (&c)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" KVASIR_NAMES_64
               "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 0;\n"
               : KVASIR_SUMS_64(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef KVASIR_SUMS_8
#undef KVASIR_SUMS_16
#undef KVASIR_SUMS_32
#undef KVASIR_SUMS_64
#undef KVASIR_NAMES_8
#undef KVASIR_NAMES_16
#undef KVASIR_NAMES_32
#undef KVASIR_NAMES_64
#undef KVASIR_MULTIPLY
#undef KVASIR_MULTIPLY_BOTH

template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

#endif

// Waits for all threads of a warpgroup. `number` is from 1 to 15 and must differ between warpgroups.
__device__ inline void sync_warpgroup(int number) {
  asm volatile("bar.sync %0, 128;" ::"r"(number) : "memory");
}

// Arrives at the barrier when everything that this thread has begun to copy is there.
__device__ inline void arrive_after_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier))
               : "memory");
}
__device__ inline void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

}  // namespace kvasir::ops::cuda

#pragma once

#include <cstdint>

// Copies and products of tiles in shared memory, in chunks of 16 bytes.
namespace kvasir::ops::cuda {

// Begins to copy a chunk of which `bytes` bytes exist; the other bytes become zeros.
__device__ inline void copy_async(uint4* to, const void* from, int bytes) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes));
}
__device__ inline void end_copies() {
  asm volatile("cp.async.commit_group;");
}
// Waits until all but the last kPending groups of this thread's copies have arrived. end_copies() ends a
// group.
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending));
}

// Loads four matrices of eight rows, one chunk a row. Lane l passes the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(const uint4* row, uint32_t (&words)[4]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(address));
}

// c += a b, where a has sixteen rows and b eight columns.
__device__ inline void multiply_bf16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace kvasir::ops::cuda

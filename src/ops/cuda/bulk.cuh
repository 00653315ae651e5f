#pragma once

#include <cstdint>

// Copies from global to shared memory by the copy engine, which signals a barrier when the bytes have
// arrived.
namespace kvasir::ops::cuda {

using Barrier = std::uint64_t;  // must be in shared memory

// The code below is compiled for older architectures too, but never runs there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define KVASIR_BULK_ASM(...) (void)0
#else
#define KVASIR_BULK_ASM(...) asm volatile(__VA_ARGS__)
#endif

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// One thread must call this before any thread uses the barrier. A phase ends after this many arrivals, and
// when all expected bytes are there.
__device__ inline void make_barrier(Barrier* barrier, std::uint32_t arrivals = 1) {
  KVASIR_BULK_ASM("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                  "r"(arrivals) : "memory");
}

// Must be called after the last make_barrier, so that the copy engine sees the barriers.
__device__ inline void publish_barriers() {
  KVASIR_BULK_ASM("fence.mbarrier_init.release.cluster;" :: : "memory");
  KVASIR_BULK_ASM("fence.proxy.async.shared::cta;" :: : "memory");
}

__device__ inline void expect_bytes(Barrier* barrier, std::uint32_t bytes) {
  KVASIR_BULK_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                  "r"(bytes) : "memory");
}

// Begins a copy. `bytes` and both addresses must be multiples of 16.
__device__ inline void copy_bulk(void* to, const void* from, std::uint32_t bytes, Barrier* barrier) {
  KVASIR_BULK_ASM(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

// A policy for data that is read only once: it is the first to leave the cache.
__device__ inline std::uint64_t read_once_policy() {
  std::uint64_t policy = 0;
  KVASIR_BULK_ASM("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline void copy_bulk(void* to, const void* from, std::uint32_t bytes, Barrier* barrier,
                                 std::uint64_t policy) {
  KVASIR_BULK_ASM(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy) : "memory");
}

// Waits until the phase whose number is `phase` modulo 2 has ended. The phase before the first counts as
// ended.
__device__ inline void wait_for_phase(Barrier* barrier, std::uint32_t phase) {
  std::uint32_t done = 0;
  while (done == 0) {
    KVASIR_BULK_ASM(
        "{\n"
        ".reg .pred there;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 there, [%1], %2;\n"
        "selp.u32 %0, 1, 0, there;\n"
        "}" : "=r"(done) : "r"(shared_address(barrier)),
        "r"(phase) : "memory");
  }
}

#undef KVASIR_BULK_ASM

}  // namespace kvasir::ops::cuda

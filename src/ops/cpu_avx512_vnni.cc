#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/quant_blocks.h"
#include "ops/tile_format.h"

#define KVASIR_TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
#define KVASIR_VNNI 1
#define KVASIR_KERNEL __attribute__((target(KVASIR_TARGET)))
#define KVASIR_INLINE __attribute__((target(KVASIR_TARGET), always_inline)) inline

// g++ 12 takes the undefined operand of its own intrinsics for a variable that was forgotten.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace kvasir::ops {
namespace {

#include "ops/simd_avx512.inc"
//
#include "ops/cpu_kernels.inc"

}  // namespace

const CpuKernels& avx512_vnni_kernels() {
  return kKernels;
}

}  // namespace kvasir::ops

#endif

#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/quant_blocks.h"
#include "ops/tile_format.h"

#define KVASIR_TARGET "avx2,fma,f16c"
#define KVASIR_KERNEL __attribute__((target(KVASIR_TARGET)))
#define KVASIR_INLINE __attribute__((target(KVASIR_TARGET), always_inline)) inline

namespace kvasir::ops {
namespace {

#include "ops/simd_avx2.inc"
//
#include "ops/cpu_kernels.inc"

}  // namespace

const CpuKernels& avx2_kernels() {
  return kKernels;
}

}  // namespace kvasir::ops

#endif

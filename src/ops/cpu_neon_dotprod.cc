#if defined(__aarch64__)

#include <arm_neon.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/quant_blocks.h"
#include "ops/tile_format.h"

#define KVASIR_TARGET "arch=armv8.2-a+dotprod"
#define KVASIR_DOTPROD 1
#define KVASIR_KERNEL __attribute__((target(KVASIR_TARGET)))
#define KVASIR_INLINE __attribute__((target(KVASIR_TARGET), always_inline)) inline

namespace kvasir::ops {
namespace {

#include "ops/simd_neon.inc"
//
#include "ops/cpu_kernels.inc"

}  // namespace

const CpuKernels& neon_dotprod_kernels() {
  return kKernels;
}

}  // namespace kvasir::ops

#endif

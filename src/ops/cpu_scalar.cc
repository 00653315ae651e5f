#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/dequantize.h"
#include "ops/quant_blocks.h"
#include "ops/tile_format.h"

#define KVASIR_KERNEL
#define KVASIR_INLINE inline

namespace kvasir::ops {
namespace {

#include "ops/simd_scalar.inc"
//
#include "ops/cpu_kernels.inc"

}  // namespace

const CpuKernels& scalar_kernels() {
  return kKernels;
}

}  // namespace kvasir::ops

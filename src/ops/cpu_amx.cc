#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#include "base/check.h"
#include "ops/cpu_kernels.h"
#include "ops/quant_blocks.h"
#include "ops/tile_format.h"

#define KVASIR_TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"
#define KVASIR_VNNI 0  // signed weights stay as they are
#define KVASIR_KERNEL __attribute__((target(KVASIR_TARGET)))
#define KVASIR_INLINE __attribute__((target(KVASIR_TARGET), always_inline)) inline

// g++ 12 takes the undefined operand of its own intrinsics for a variable that was forgotten.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

namespace kvasir::ops {

const CpuKernels& avx512_vnni_kernels();

namespace {

#include "ops/simd_avx512.inc"
//
#include "ops/tile_format_cpu.inc"
//
#include "ops/matmul_amx.inc"

CpuKernels make_kernels() {
  CpuKernels kernels = avx512_vnni_kernels();
  kernels.multiply_panel = multiply_panel;
  return kernels;
}

}  // namespace

const CpuKernels& amx_kernels() {
  static const CpuKernels kernels = make_kernels();
  return kernels;
}

}  // namespace kvasir::ops

#endif

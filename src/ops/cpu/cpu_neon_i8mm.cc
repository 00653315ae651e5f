#if defined(__aarch64__)

#include <arm_neon.h>

#define KVASIR_TARGET "arch=armv8.2-a+dotprod+i8mm"
#define KVASIR_DOTPROD 1
#define KVASIR_I8MM 1
#define KVASIR_NATIVE "ops/cpu/simd_neon.inc"
#define KVASIR_FLOATS neon_float_kernels
#define KVASIR_KERNELS neon_i8mm_kernels

#include "ops/cpu/cpu_kernels.inc"

#endif

#if defined(__aarch64__)

#include <arm_neon.h>

#define KVASIR_TARGET "+simd"
#define KVASIR_DOTPROD 0
#define KVASIR_I8MM 0
#define KVASIR_NATIVE "ops/cpu/simd_neon.inc"
#define KVASIR_FLOATS neon_float_kernels
#define KVASIR_KERNELS neon_kernels

#include "ops/cpu/cpu_kernels.inc"

#endif

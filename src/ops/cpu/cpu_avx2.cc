#if defined(__x86_64__)

#include <immintrin.h>

#define KVASIR_TARGET "avx2,fma,f16c"
#define KVASIR_NATIVE "ops/cpu/simd_avx2.inc"
#define KVASIR_FLOATS avx2_float_kernels
#define KVASIR_KERNELS avx2_kernels

#include "ops/cpu/cpu_kernels.inc"

#endif

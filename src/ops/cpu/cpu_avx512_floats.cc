#if defined(__x86_64__)

#include <immintrin.h>

#define KVASIR_TARGET "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"
#define KVASIR_VNNI 0
#define KVASIR_NATIVE "ops/cpu/simd_avx512.inc"
#define KVASIR_KERNELS avx512_float_kernels

#include "ops/cpu/cpu_float_kernels.inc"

#endif

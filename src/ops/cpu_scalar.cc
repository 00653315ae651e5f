#define KVASIR_NATIVE "ops/simd_scalar.inc"
#define KVASIR_KERNELS scalar_kernels

#include "ops/cpu_kernels.inc"

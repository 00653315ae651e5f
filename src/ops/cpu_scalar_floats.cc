#define KVASIR_NATIVE "ops/simd_scalar.inc"
#define KVASIR_KERNELS scalar_float_kernels

#include "ops/cpu_float_kernels.inc"

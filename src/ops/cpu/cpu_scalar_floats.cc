#define KVASIR_NATIVE "ops/cpu/simd_scalar.inc"
#define KVASIR_KERNELS scalar_float_kernels

#include "ops/cpu/cpu_float_kernels.inc"

#define KVASIR_NATIVE "ops/simd_scalar.inc"
#define KVASIR_FLOATS scalar_float_kernels
#define KVASIR_KERNELS scalar_kernels

#include "ops/cpu_kernels.inc"

#define KVASIR_NATIVE "ops/cpu/simd_scalar.inc"
#define KVASIR_FLOATS scalar_float_kernels
#define KVASIR_KERNELS scalar_kernels

#include "ops/cpu/cpu_kernels.inc"

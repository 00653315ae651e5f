#if defined(__x86_64__)

#define KVASIR_KERNELS amx_kernels

#include "ops/cpu/cpu_amx_kernels.inc"

#endif

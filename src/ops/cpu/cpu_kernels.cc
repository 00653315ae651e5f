#include "ops/cpu/cpu_kernels.h"

#include "base/check.h"

namespace kvasir::ops {

const CpuKernels& scalar_kernels();
const CpuKernels& avx2_kernels();
const CpuKernels& avx512_kernels();
const CpuKernels& avx512_vnni_kernels();
const CpuKernels& amx_kernels();
const CpuKernels& neon_kernels();
const CpuKernels& neon_dotprod_kernels();
const CpuKernels& neon_i8mm_kernels();

const CpuKernels& cpu_kernels(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return scalar_kernels();
#if defined(__x86_64__)
    case Isa::avx2:
      return avx2_kernels();
    case Isa::avx512:
      return avx512_kernels();
    case Isa::avx512_vnni:
      return avx512_vnni_kernels();
    case Isa::amx:
      return amx_kernels();
#elif defined(__aarch64__)
    case Isa::neon:
      return neon_kernels();
    case Isa::neon_dotprod:
      return neon_dotprod_kernels();
    case Isa::neon_i8mm:
      return neon_i8mm_kernels();
#endif
    default:
      break;
  }
  CHECK(false, "no kernels for {}", name(isa));
  return scalar_kernels();
}

}  // namespace kvasir::ops

#include "ops/isa.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kvasir::ops {
namespace {

std::vector<Isa> detect() {
  std::vector<Isa> isas = {Isa::scalar};
#if defined(__x86_64__)
  // The compiler's support checks that the operating system saves the wide registers, too.
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2) isas.push_back(Isa::avx2);
  if (avx512) isas.push_back(Isa::avx512);
  if (avx512 && __builtin_cpu_supports("avx512vnni")) isas.push_back(Isa::avx512_vnni);
#elif defined(__aarch64__)
  isas.push_back(Isa::neon);
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) isas.push_back(Isa::neon_dotprod);
#endif
  return isas;
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon_dotprod";
  }
  return "unknown";
}

const std::vector<Isa>& supported_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

}  // namespace kvasir::ops

#include "ops/cpu/isa.h"

#include <string>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kvasir::ops {
namespace {

#if defined(__x86_64__)
// Linux lets a process use tiles only after it has asked once, since they add 8 KB to each thread's saved
// state.
bool may_use_amx() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool present = (d & (1u << 24)) != 0 && (d & (1u << 25)) != 0;  // tiles, 8-bit products
  return present && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

std::vector<Isa> detect() {
  std::vector<Isa> isas = {Isa::scalar};
#if defined(__x86_64__)
  // __builtin_cpu_supports also checks that the operating system saves the wide registers.
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2) isas.push_back(Isa::avx2);
  if (avx512) isas.push_back(Isa::avx512);
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (vnni) isas.push_back(Isa::avx512_vnni);
  if (vnni && may_use_amx()) isas.push_back(Isa::amx);
#elif defined(__aarch64__)
  isas.push_back(Isa::neon);
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) isas.push_back(Isa::neon_dotprod);
  if (isas.back() == Isa::neon_dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0)
    isas.push_back(Isa::neon_i8mm);
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
    case Isa::amx:
      return "amx";
    case Isa::neon:
      return "neon";
    case Isa::neon_dotprod:
      return "neon_dotprod";
    case Isa::neon_i8mm:
      return "neon_i8mm";
  }
  return "unknown";
}

const std::vector<Isa>& supported_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

base::Result<Isa> choose_isa(std::string_view wanted) {
  if (wanted == "auto") return best_isa();
  std::string runs;
  for (const Isa isa : supported_isas()) {
    if (name(isa) == wanted) return isa;
    if (!runs.empty()) runs += ", ";
    runs += name(isa);
  }
  return base::error(base::ErrorCode::invalid_argument, "isa: this machine does not run {}; it runs {}",
                     wanted, runs);
}

}  // namespace kvasir::ops

// The arithmetic instructions of each CPU, each as a loop over registers. The loops are inline assembly,
// since a compiler would fold, reorder or spill, and g++ 12 does not know which memory its AMX intrinsics
// touch.
#include "bench/machine.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace kvasir::bench {

namespace {

#if defined(__x86_64__)

#define KVASIR_ZMM_CLOBBERS                                                                                  \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
      "xmm13", "xmm14", "xmm15"

// Twelve accumulators hide a latency of six cycles on two ports. Registers 12 and 13 are the factors.
#define KVASIR_TWELVE(op, r)                                                                           \
  op " %%" r "12, %%" r "13, %%" r "0\n" op " %%" r "12, %%" r "13, %%" r "1\n" op " %%" r "12, %%" r  \
     "13, %%" r "2\n" op " %%" r "12, %%" r "13, %%" r "3\n" op " %%" r "12, %%" r "13, %%" r "4\n" op \
     " %%" r "12, %%" r "13, %%" r "5\n" op " %%" r "12, %%" r "13, %%" r "6\n" op " %%" r "12, %%" r  \
     "13, %%" r "7\n" op " %%" r "12, %%" r "13, %%" r "8\n" op " %%" r "12, %%" r "13, %%" r "9\n" op \
     " %%" r "12, %%" r "13, %%" r "10\n" op " %%" r "12, %%" r "13, %%" r "11\n"

#define KVASIR_LOOP(body) "1:\n" body "subq $1, %0\njnz 1b\n"

__attribute__((target("avx512f"))) double run_fma512(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile("vzeroall\n" KVASIR_LOOP(KVASIR_TWELVE("vfmadd231ps", "zmm")) "vzeroupper\n"
               : "+r"(left)
               :
               : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 12 * 16 * 2;
}

__attribute__((target("avx2,fma"))) double run_fma256(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile("vzeroall\n" KVASIR_LOOP(KVASIR_TWELVE("vfmadd231ps", "ymm")) "vzeroupper\n"
               : "+r"(left)
               :
               : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 12 * 8 * 2;
}

__attribute__((target("avx512f"))) double run_vnni512(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile("vzeroall\n" KVASIR_LOOP(KVASIR_TWELVE("vpdpbusd", "zmm")) "vzeroupper\n"
               : "+r"(left)
               :
               : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 12 * 64 * 2;
}

__attribute__((target("avx2"))) double run_vnni256(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile("vzeroall\n" KVASIR_LOOP(KVASIR_TWELVE("%{vex%} vpdpbusd", "ymm")) "vzeroupper\n"
               : "+r"(left)
               :
               : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 12 * 32 * 2;
}

// Multiplies bytes as CPUs without VNNI do: products of bytes become words, words become dwords, and these
// are added.
__attribute__((target("avx2"))) double run_maddubs256(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile(
      "vzeroall\n"
      "1:\n"
      "vpmaddubsw %%ymm12, %%ymm13, %%ymm4\nvpmaddubsw %%ymm12, %%ymm13, %%ymm5\n"
      "vpmaddubsw %%ymm12, %%ymm13, %%ymm6\nvpmaddubsw %%ymm12, %%ymm13, %%ymm7\n"
      "vpmaddwd %%ymm14, %%ymm4, %%ymm8\nvpmaddwd %%ymm14, %%ymm5, %%ymm9\n"
      "vpmaddwd %%ymm14, %%ymm6, %%ymm10\nvpmaddwd %%ymm14, %%ymm7, %%ymm11\n"
      "vpaddd %%ymm8, %%ymm0, %%ymm0\nvpaddd %%ymm9, %%ymm1, %%ymm1\n"
      "vpaddd %%ymm10, %%ymm2, %%ymm2\nvpaddd %%ymm11, %%ymm3, %%ymm3\n"
      "subq $1, %0\njnz 1b\n"
      "vzeroupper\n"
      : "+r"(left)
      :
      : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 4 * 32 * 2;
}

__attribute__((target("avx512f"))) double run_bf16_512(std::int64_t num_loops) {
  std::int64_t left = num_loops;
  asm volatile("vzeroall\n" KVASIR_LOOP(KVASIR_TWELVE("vdpbf16ps", "zmm")) "vzeroupper\n"
               : "+r"(left)
               :
               : KVASIR_ZMM_CLOBBERS, "cc");
  return static_cast<double>(num_loops) * 12 * 32 * 2;
}

// The configuration that ldtilecfg reads: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// Four accumulators, for two rows and two columns of tiles, as in a blocked product.
#define KVASIR_TILES(op)                                                                          \
  op " %%tmm6, %%tmm4, %%tmm0\n" op " %%tmm7, %%tmm4, %%tmm1\n" op " %%tmm6, %%tmm5, %%tmm2\n" op \
     " %%tmm7, %%tmm5, %%tmm3\n"
#define KVASIR_ZERO_TILES                                                \
  "tilezero %%tmm0\ntilezero %%tmm1\ntilezero %%tmm2\ntilezero %%tmm3\n" \
  "tilezero %%tmm4\ntilezero %%tmm5\ntilezero %%tmm6\ntilezero %%tmm7\n"

double run_amx_int8(std::int64_t num_loops) {
  const TileConfig config;
  std::int64_t left = num_loops;
  asm volatile("ldtilecfg %1\n" KVASIR_ZERO_TILES KVASIR_LOOP(KVASIR_TILES("tdpbssd")) "tilerelease\n"
               : "+r"(left)
               : "m"(config)
               : "cc");
  return static_cast<double>(num_loops) * 4 * 16 * 16 * 64 * 2;
}

double run_amx_bf16(std::int64_t num_loops) {
  const TileConfig config;
  std::int64_t left = num_loops;
  asm volatile("ldtilecfg %1\n" KVASIR_ZERO_TILES KVASIR_LOOP(KVASIR_TILES("tdpbf16ps")) "tilerelease\n"
               : "+r"(left)
               : "m"(config)
               : "cc");
  return static_cast<double>(num_loops) * 4 * 16 * 16 * 32 * 2;
}

// Asks the system for the tile state. All threads of the process may use it afterwards.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Cpuid cpuid(unsigned leaf, unsigned subleaf) {
  Cpuid r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(unsigned value, int index) {
  return (value >> index & 1) != 0;
}

#elif defined(__aarch64__)

// v0 to v11 are twelve accumulators; v12 and v13 are the factors.
#define KVASIR_TWELVE(op, d, s)                                                                        \
  op " v0." d ", v12." s ", v13." s "\n" op " v1." d ", v12." s ", v13." s "\n" op " v2." d ", v12." s \
     ", v13." s "\n" op " v3." d ", v12." s ", v13." s "\n" op " v4." d ", v12." s ", v13." s "\n" op  \
     " v5." d ", v12." s ", v13." s "\n" op " v6." d ", v12." s ", v13." s "\n" op " v7." d ", v12." s \
     ", v13." s "\n" op " v8." d ", v12." s ", v13." s "\n" op " v9." d ", v12." s ", v13." s "\n" op  \
     " v10." d ", v12." s ", v13." s "\n" op " v11." d ", v12." s ", v13." s "\n"
#define KVASIR_ZEROS                                                                                   \
  "movi v0.4s, #0\nmovi v1.4s, #0\nmovi v2.4s, #0\nmovi v3.4s, #0\nmovi v4.4s, #0\nmovi v5.4s, #0\n"   \
  "movi v6.4s, #0\nmovi v7.4s, #0\nmovi v8.4s, #0\nmovi v9.4s, #0\nmovi v10.4s, #0\nmovi v11.4s, #0\n" \
  "movi v12.4s, #0\nmovi v13.4s, #0\n"
#define KVASIR_CLOBBERS \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "cc"
#define KVASIR_RUN(op, d, s, ops_each)                                                  \
  std::int64_t left = num_loops;                                                        \
  asm volatile(KVASIR_ZEROS "1:\n" KVASIR_TWELVE(op, d, s) "subs %0, %0, #1\nb.ne 1b\n" \
               : "+r"(left)                                                             \
               :                                                                        \
               : KVASIR_CLOBBERS);                                                      \
  return static_cast<double>(num_loops) * 12 * (ops_each)

double run_fmla(std::int64_t num_loops) {
  KVASIR_RUN("fmla", "4s", "4s", 4 * 2);
}
__attribute__((target("arch=armv8.2-a+dotprod"))) double run_sdot(std::int64_t num_loops) {
  KVASIR_RUN("sdot", "4s", "16b", 16 * 2);
}
__attribute__((target("arch=armv8.2-a+i8mm"))) double run_smmla(std::int64_t num_loops) {
  KVASIR_RUN("smmla", "4s", "16b", 32 * 2);
}
__attribute__((target("arch=armv8.2-a+bf16"))) double run_bfmmla(std::int64_t num_loops) {
  KVASIR_RUN("bfmmla", "4s", "8h", 16 * 2);
}

#endif

}  // namespace

#if defined(__x86_64__)

std::vector<Instruction> instructions() {
  std::vector<Instruction> list;
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  const Cpuid seven = cpuid(7, 0);
  const Cpuid seven_one = cpuid(7, 1);
  if (avx2) list.push_back({Arithmetic::f32, "AVX2 FMA", run_fma256});
  if (avx512) list.push_back({Arithmetic::f32, "AVX-512 FMA", run_fma512});
  if (avx2) list.push_back({Arithmetic::int8, "AVX2 multiply-add", run_maddubs256});
  if (avx2 && bit(seven_one.eax, 4)) list.push_back({Arithmetic::int8, "AVX-VNNI", run_vnni256});
  if (avx512 && __builtin_cpu_supports("avx512vnni"))
    list.push_back({Arithmetic::int8, "AVX-512 VNNI", run_vnni512});
  if (avx512 && bit(seven_one.eax, 5)) list.push_back({Arithmetic::bf16, "AVX-512 BF16", run_bf16_512});
  if (bit(seven.edx, 24) && may_use_tiles()) {
    if (bit(seven.edx, 25)) list.push_back({Arithmetic::int8, "AMX INT8", run_amx_int8});
    if (bit(seven.edx, 22)) list.push_back({Arithmetic::bf16, "AMX BF16", run_amx_bf16});
  }
  return list;
}

#elif defined(__aarch64__)

std::vector<Instruction> instructions() {
  std::vector<Instruction> list = {{Arithmetic::f32, "NEON FMLA", run_fmla}};
  const unsigned long first = ::getauxval(AT_HWCAP);
  const unsigned long second = ::getauxval(AT_HWCAP2);
  constexpr unsigned long kI8mm = 1ul << 13;
  constexpr unsigned long kBf16 = 1ul << 14;
  if ((first & HWCAP_ASIMDDP) != 0) list.push_back({Arithmetic::int8, "SDOT", run_sdot});
  if ((second & kI8mm) != 0) list.push_back({Arithmetic::int8, "SMMLA", run_smmla});
  if ((second & kBf16) != 0) list.push_back({Arithmetic::bf16, "BFMMLA", run_bfmmla});
  return list;
}

#else

std::vector<Instruction> instructions() {
  return {};
}

#endif

}  // namespace kvasir::bench

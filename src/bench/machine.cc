#include "bench/machine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "base/clock.h"
#include "tensor/buffer.h"

namespace kvasir::bench {

namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;
constexpr std::int64_t kLeastBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;
constexpr int kMinReads = 5;
constexpr double kReadSeconds = 1.0;
constexpr double kPeakSeconds = 0.15;
constexpr int kPeakRounds = 3;

// On x86, /proc/cpuinfo has the CPU's name; on arm64, only its part number.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string part;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(": ");
    if (at == std::string::npos) continue;
    if (line.starts_with("model name")) return line.substr(at + 2);
    if (line.starts_with("CPU part")) part = "arm64 CPU, part " + line.substr(at + 2);
  }
  return part.empty() ? "unknown CPU" : part;
}

std::int64_t last_level_cache_bytes() {
  std::int64_t most = 0;
  for (const int name : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
    most = std::max<std::int64_t>(most, ::sysconf(name));
  return most;
}

// Returns a size much larger than the cache, but at most a quarter of the free memory.
std::int64_t buffer_bytes(std::int64_t cache_bytes) {
  const std::int64_t free_bytes =
      static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const std::int64_t wanted = std::clamp(8 * cache_bytes, kLeastBytes, kMostBytes);
  return std::max(std::min(wanted, free_bytes / 4), 16 * kPieceBytes) / kPieceBytes * kPieceBytes;
}

using Lanes = std::uint64_t __attribute__((vector_size(64)));

// Reads memory in eight independent streams of loads. This is inlined into the functions below, whose targets
// decide the vector width.
[[gnu::always_inline]] inline std::uint64_t fold(const std::byte* bytes) {
  const auto* lanes = reinterpret_cast<const Lanes*>(bytes);
  Lanes sums[4] = {};
  for (std::int64_t i = 0; i < kPieceBytes / 64; i += 8) {
    for (int j = 0; j < 4; ++j) sums[j] ^= lanes[i + j] ^ lanes[i + 4 + j];
  }
  const Lanes all = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  std::uint64_t sum = 0;
  for (int j = 0; j < 8; ++j) sum ^= all[j];
  return sum;
}

std::uint64_t fold_plain(const std::byte* bytes) {
  return fold(bytes);
}

using Fold = std::uint64_t (*)(const std::byte*);

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint64_t fold_avx2(const std::byte* bytes) {
  return fold(bytes);
}
__attribute__((target("avx512f"))) std::uint64_t fold_avx512(const std::byte* bytes) {
  return fold(bytes);
}
Fold best_fold() {
  if (__builtin_cpu_supports("avx512f")) return fold_avx512;
  return __builtin_cpu_supports("avx2") ? fold_avx2 : fold_plain;
}
#else
Fold best_fold() {
  return fold_plain;
}
#endif

double seconds_since(base::TimePoint start) {
  return base::seconds(base::RealClock().now() - start);
}

// Returns the speed of the best pass, since other work on the machine can only slow a pass down.
double read_bytes_per_s(ops::ComputePool& pool, std::int64_t cache_bytes) {
  const std::int64_t bytes = buffer_bytes(cache_bytes);
  tensor::Buffer buffer(static_cast<std::size_t>(bytes));
  const auto num_pieces = static_cast<int>(bytes / kPieceBytes);
  // The buffer is written once, since all untouched pages are the same page of zeros.
  pool.run(num_pieces, [&](int piece, int) {
    std::fill_n(buffer.data() + piece * kPieceBytes, kPieceBytes, static_cast<std::byte>(piece + 1));
  });
  const Fold fold_piece = best_fold();
  std::atomic<std::uint64_t> sink{0};
  double best_s = 1e9;
  const base::TimePoint start = base::RealClock().now();
  for (int i = 0; i < kMinReads || seconds_since(start) < kReadSeconds; ++i) {
    const base::TimePoint pass = base::RealClock().now();
    pool.run(num_pieces, [&](int piece, int) { sink ^= fold_piece(buffer.data() + piece * kPieceBytes); });
    best_s = std::min(best_s, seconds_since(pass));
  }
  return static_cast<double>(bytes) / best_s;
}

// Runs on all threads at once, since clock rates fall when every core is busy.
double ops_per_s(ops::ComputePool& pool, const Instruction& instruction) {
  std::int64_t num_loops = 1000;
  for (;;) {
    const base::TimePoint start = base::RealClock().now();
    instruction.run(num_loops);
    const double elapsed_s = seconds_since(start);
    if (elapsed_s > 0.005) {
      num_loops = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(num_loops) * kPeakSeconds / elapsed_s));
      break;
    }
    num_loops *= 4;
  }
  // Pieces are small, so that a core that also does other work takes fewer of them.
  constexpr int kPieces = 16;
  double best = 0;
  for (int round = 0; round < kPeakRounds; ++round) {
    const int num_pieces = kPieces * pool.num_threads();
    std::atomic<double> num_ops{0};
    const base::TimePoint start = base::RealClock().now();
    pool.run(num_pieces,
             [&](int, int) { num_ops += instruction.run(std::max<std::int64_t>(1, num_loops / kPieces)); });
    best = std::max(best, num_ops.load() / seconds_since(start));
  }
  return best;
}

}  // namespace

std::string_view name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::int8:
      return "int8";
    case Arithmetic::bf16:
      return "bf16";
    case Arithmetic::f32:
      return "f32";
  }
  return "?";
}

double Machine::best(Arithmetic arithmetic) const {
  double best = 0;
  for (const Peak& peak : peaks)
    if (peak.arithmetic == arithmetic) best = std::max(best, peak.ops_per_s);
  return best;
}

const Peak* Machine::fastest() const {
  const auto at = std::max_element(peaks.begin(), peaks.end(),
                                   [](const Peak& a, const Peak& b) { return a.ops_per_s < b.ops_per_s; });
  return at == peaks.end() ? nullptr : &*at;
}

Machine measure_machine(ops::ComputePool& pool, const std::function<void(std::string_view)>& on_progress) {
  Machine machine;
  machine.cpu = cpu_name();
  machine.num_threads = pool.num_threads();
  machine.cache_bytes = last_level_cache_bytes();
  on_progress("measuring the memory's read bandwidth");
  machine.read_bytes_per_s = read_bytes_per_s(pool, machine.cache_bytes);
  for (const Instruction& instruction : instructions()) {
    on_progress(instruction.name);
    machine.peaks.push_back(
        {instruction.arithmetic, std::string(instruction.name), ops_per_s(pool, instruction)});
  }
  return machine;
}

}  // namespace kvasir::bench

#include "ops/cpu/memory_speed.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>

#include "base/clock.h"

namespace kvasir::ops {

double measure_memory_speed(ComputePool& pool) {
  constexpr std::size_t kPieceWords = (std::size_t{1} << 20) / sizeof(std::uint64_t);
  constexpr int kNumPieces = 64;
  constexpr int kNumPasses = 3;
  const std::unique_ptr<std::uint64_t[]> words(new std::uint64_t[kPieceWords * kNumPieces]);
  const auto piece_at = [&](int piece) {
    return std::span(words.get() + static_cast<std::size_t>(piece) * kPieceWords, kPieceWords);
  };
  pool.run(kNumPieces, [&](int piece, int) { std::ranges::fill(piece_at(piece), piece); });
  std::atomic<std::uint64_t> sum = 0;  // uses the numbers, so that the compiler keeps the reads
  double best_s = 1e9;
  for (int pass = 0; pass < kNumPasses; ++pass) {
    const base::TimePoint start = base::RealClock().now();
    pool.run(kNumPieces, [&](int piece, int) {
      const auto part = piece_at(piece);
      sum.fetch_add(std::accumulate(part.begin(), part.end(), std::uint64_t{0}), std::memory_order_relaxed);
    });
    best_s = std::min(best_s, base::seconds(base::RealClock().now() - start));
  }
  return static_cast<double>(kNumPieces * kPieceWords * sizeof(std::uint64_t)) / best_s;
}

}  // namespace kvasir::ops

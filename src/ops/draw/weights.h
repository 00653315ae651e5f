#pragma once

#include <math.h>

#include <cstdint>
#include <limits>

// Code that runs both on devices and, in tests, on the host. A team is whatever works on one row: threads
// that share scratch memory, or one thread of the host (host_team.h).
#if defined(__CUDACC__)
#define KVASIR_TEAM __device__
#define KVASIR_TEAM_CALL __device__ __noinline__  // large, and called in several places
#else
#define KVASIR_TEAM
#define KVASIR_TEAM_CALL
#endif

namespace kvasir::ops {

inline constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Rounds each result, since a compiler must not fuse these operations.
KVASIR_TEAM inline float times(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
KVASIR_TEAM inline float plus(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
KVASIR_TEAM inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
KVASIR_TEAM inline float float_of(std::uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// exp(x) for x <= 0, with the same bits as in sample::softmax.
KVASIR_TEAM inline float exp_negative(float x) {
  constexpr float kRound = 12582912.0f;
  if (x < -85.0f) return 0;
  const float shifted = plus(times(x, 1.44269504f), kRound);
  const float n = plus(shifted, -kRound);
  const float r = plus(plus(x, -times(n, 0.693359375f)), times(n, 2.12194440e-4f));
  float p = 1.9875691500e-4f;
  p = plus(times(p, r), 1.3981999507e-3f);
  p = plus(times(p, r), 8.3334519073e-3f);
  p = plus(times(p, r), 4.1665795894e-2f);
  p = plus(times(p, r), 1.6666665459e-1f);
  p = plus(times(p, r), 5.0000001201e-1f);
  p = plus(plus(times(times(p, r), r), r), 1.0f);
  const std::uint32_t exponent = bits_of(shifted) - bits_of(kRound) + 127;
  return times(p, float_of(exponent << 23));
}

// Keys order a row's tokens: the smallest key comes first, and of equal keys the lower id. A key has 30 bits.
inline constexpr std::uint32_t kNoKey = ~std::uint32_t{0};  // the token cannot be drawn
inline constexpr std::uint32_t kLastKey = (std::uint32_t{1} << 30) - 1;

KVASIR_TEAM inline std::uint32_t key_of_weight(float weight) {
  return kLastKey - bits_of(weight);
}
KVASIR_TEAM inline float weight_of_key(std::uint32_t key) {
  return float_of(kLastKey - key);
}

// Keys of a row's weights relative to the largest, which is 1. The heaviest tokens come first.
struct WeightKeys {
  float max = 0;
  float scale = 1;
  // Logits outside [least, most] cannot have a key in the range that is looked for, see within().
  float least = -kInfinite;
  float most = kInfinite;

  KVASIR_TEAM float weight(float logit) const { return exp_negative(times(plus(logit, -max), scale)); }
  KVASIR_TEAM std::uint32_t operator()(float logit) const {
    if (logit < least || logit > most) return kNoKey;
    const float w = weight(logit);
    return w > 0 ? key_of_weight(w) : kNoKey;
  }
  // The same keys within [first, last]. Many logits that have no key in it get kNoKey without the computation
  // of a weight.
  KVASIR_TEAM WeightKeys within(std::uint32_t first, std::uint32_t last) const {
    WeightKeys keys = *this;
    keys.most = first >= kLastKey - bits_of(1.0f) ? logit_of(weight_of_key(first), 1.0f) : kInfinite;
    keys.least = logit_of(weight_of_key(last), -1.0f);
    return keys;
  }

 private:
  // The logit that has this weight, moved to `side` by a margin above rounding errors.
  KVASIR_TEAM float logit_of(float w, float side) const {
    if (!(w > 1e-37f)) return -kInfinite;
    const float distance = logf(w);
    const float margin = 1e-5f * (1 - distance) / scale + 1e-6f * fabsf(max);
    return max + distance / scale + side * margin;
  }
};

// Keys of logits by their distance to the largest, in steps of 2^-22. All that are 256 or more below get the
// same key.
struct DistanceKeys {
  float max = 0;

  KVASIR_TEAM std::uint32_t operator()(float logit) const {
    return static_cast<std::uint32_t>(fminf((max - logit) * 4194304.0f, 1073741760.0f));
  }
  KVASIR_TEAM DistanceKeys within(std::uint32_t /*first*/, std::uint32_t /*last*/) const { return *this; }
};

struct Largest {
  std::int32_t index = 0x7fffffff;
  float value = -kInfinite;
};

KVASIR_TEAM inline Largest better(Largest a, Largest b) {
  if (a.value != b.value) return a.value > b.value ? a : b;
  return a.index < b.index ? a : b;
}

// Calls f(i, logit) for every token of the row, each on one thread of the team.
template <class Team, class F>
KVASIR_TEAM void visit(const Team& team, const float* row, int cols, const F& f) {
  struct alignas(16) Four {
    float x[4];
  };
  const int num_fours = cols % 4 == 0 ? cols / 4 : 0;  // then every row begins at a multiple of 16 bytes
#if defined(__CUDACC__)
#pragma unroll 2
#endif
  for (int i = team.rank(); i < num_fours; i += team.size()) {
    const Four four = reinterpret_cast<const Four*>(row)[i];
    f(4 * i, four.x[0]);
    f(4 * i + 1, four.x[1]);
    f(4 * i + 2, four.x[2]);
    f(4 * i + 3, four.x[3]);
  }
  for (int i = 4 * num_fours + team.rank(); i < cols; i += team.size()) f(i, row[i]);
}

// The largest value and its first index. If any value is NaN or +inf, the result's value is +inf.
template <class Team>
KVASIR_TEAM Largest find_largest(Team& team, const float* row, int cols) {
  Largest best;
  visit(team, row, cols,
        [&best](int i, float x) { best = better(best, {i, x < kInfinite ? x : kInfinite}); });
  return team.largest(best);
}

}  // namespace kvasir::ops

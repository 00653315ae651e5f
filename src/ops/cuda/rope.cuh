#pragma once

#include "ops/cuda/launch.cuh"
#include "ops/cuda/rope.h"

// Rotates a head by one warp.
namespace kvasir::ops::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T a, b;
};

// Two neighbouring pairs of a head, at two places of two numbers each. In neox style, one place has the first
// numbers of both pairs, and the other place the second numbers. Otherwise each place has one pair.
struct Pairs {
  int first, second;
  bool crossed;

  __device__ Pairs(const RopeStoreArgs& args, int pair)
      : crossed(args.style == RopeStyle::neox && pair < args.num_pairs) {
    first = crossed ? pair : 2 * pair;
    second = crossed ? pair + args.num_pairs : first + 2;
  }

  template <class T>
  __device__ float4 load(const T* head) const {
    const auto one = *reinterpret_cast<const Two<T>*>(head + first);
    const auto other = *reinterpret_cast<const Two<T>*>(head + second);
    return make_float4(to_float(one.a), to_float(one.b), to_float(other.a), to_float(other.b));
  }
  template <class T>
  __device__ void store(T* head, const float4& x) const {
    *reinterpret_cast<Two<T>*>(head + first) = {from_float<T>(x.x), from_float<T>(x.y)};
    *reinterpret_cast<Two<T>*>(head + second) = {from_float<T>(x.z), from_float<T>(x.w)};
  }
};

__device__ inline void turn(float& a, float& b, float cosine, float sine) {
  const float turned = a * cosine - b * sine;
  b = a * sine + b * cosine;
  a = turned;
}

// Normalises a head if there is a `norm`, then rotates it. All lanes of one warp must call this.
template <class T, class To>
__device__ void turn_head(const RopeStoreArgs& args, const float* norm, std::int64_t row, const T* from,
                          To* to) {
  const int lane = threadIdx.x % 32;
  const int half = args.head_dim / 2;
  float factor = 1;
  if (norm != nullptr) {
    float squares = 0;
    for (int pair = 2 * lane; pair < half; pair += 64) {
      const float4 x = Pairs(args, pair).load(from);
      squares += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
    }
    factor = rsqrtf(warp_sum(squares) / args.head_dim + args.eps);
  }
  const float* cosines = args.table + row * 2 * args.num_pairs;
  const float* sines = cosines + args.num_pairs;
  for (int pair = 2 * lane; pair < half; pair += 64) {
    const Pairs pairs(args, pair);
    float4 x = pairs.load(from);
    if (norm != nullptr) {
      const float4 weight = pairs.load(norm);
      x = make_float4(x.x * factor * weight.x, x.y * factor * weight.y, x.z * factor * weight.z,
                      x.w * factor * weight.w);
    }
    if (pairs.crossed) {
      turn(x.x, x.z, cosines[pair], sines[pair]);
      turn(x.y, x.w, cosines[pair + 1], sines[pair + 1]);
    } else if (pair < args.num_pairs) {
      turn(x.x, x.y, cosines[pair], sines[pair]);
      turn(x.z, x.w, cosines[pair + 1], sines[pair + 1]);
    }
    pairs.store(to, x);
  }
}

}  // namespace kvasir::ops::cuda

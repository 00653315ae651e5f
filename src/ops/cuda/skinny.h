#pragma once

#include <cstdint>

#include "ops/cuda/gemv.h"
#include "ops/cuda/stream.h"

namespace kvasir::ops::cuda {

inline constexpr int kMaxSkinnyRows = 64;

// A product of few rows with four-bit weights, limited by the time to read these once. A row's result does
// not depend on the other rows or their number.
struct SkinnyArgs {
  GemvArgs::Then then = GemvArgs::Then::store;
  int rows = 0;             // at most kMaxSkinnyRows
  int cols = 0;             // skinny_takes() must be true of it
  int out = 0;              // rows of w, a multiple of 4
  const void* x = nullptr;  // [rows, cols], as bf16
  const void* w = nullptr;  // [out, cols], as in int4.h
  const void* groups = nullptr;
  const void* bias = nullptr;  // [out], as bf16, or null; not with a gate
  void* y = nullptr;           // [rows, out], or [rows, out / 2] with a gate
  float scale = 1;             // factor of the product when it is added to y
  Activation activation = Activation::silu;
  int num_parts = 1;  // set by skinny()
};

bool skinny_takes(std::int64_t cols);

void skinny(StreamHandle stream, SkinnyArgs args);

}  // namespace kvasir::ops::cuda

#pragma once

#include <cstdint>

#include "ops/cuda/gemv.h"
#include "ops/cuda/stream.h"

namespace kvasir::ops::cuda {

// A product of few rows with weights of few bits, which is bound by reading these once. In bf16 the library
// is faster. A row's result does not depend on the others', nor on their number.
struct SkinnyArgs {
  enum class Numbers : std::uint8_t { e4m3, int4 } numbers = Numbers::e4m3;  // of w; the second as in int4.h
  GemvArgs::Then then = GemvArgs::Then::store;
  int rows = 0;                     // at most most_skinny_rows()
  int cols = 0;                     // skinny_takes() them
  int out = 0;                      // rows of w, a multiple of 4
  const void* x = nullptr;          // [rows, cols] of bf16
  const void* w = nullptr;          // [out, cols]
  const float* w_scales = nullptr;  // [out], of e4m3
  const void* groups = nullptr;     // of int4
  const void* bias = nullptr;       // [out] of bf16, or null; not behind a gate
  void* y = nullptr;                // [rows, out], or [rows, out / 2] behind a gate
  float scale = 1;                  // of what is added
  Activation activation = Activation::silu;
  int num_parts = 1;  // skinny() decides it
};

int most_skinny_rows(SkinnyArgs::Numbers numbers);
bool skinny_takes(SkinnyArgs::Numbers numbers, std::int64_t cols);

void skinny(StreamHandle stream, SkinnyArgs args);

}  // namespace kvasir::ops::cuda

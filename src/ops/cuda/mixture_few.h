#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"
#include "ops/types/activation.h"

namespace kvasir::ops::cuda {

// A mixture's experts for one or a few rows, in bf16, with the norm before them and the sum after them. A
// row's result does not depend on the other rows.
struct FewExpertsArgs {
  Activation activation = Activation::silu;
  int rows = 0;
  int num_used = 0;                       // experts for each row
  int hidden = 0;                         // a multiple of 8
  int inner = 0;                          // a multiple of 8
  const std::int32_t* experts = nullptr;  // [rows, used]
  const float* weights = nullptr;         // [rows, used]
  const void* x = nullptr;                // [rows, hidden]
  const float* rms_weight = nullptr;      // [hidden]: x is normalised first
  float eps = 1e-5f;
  const void* const* ups = nullptr;    // [experts]: pointers to [2 * inner, hidden]
  const void* const* downs = nullptr;  // [experts]: pointers to [hidden, inner]
  void* between = nullptr;             // [rows, used, inner]
  void* y = nullptr;                   // [rows, hidden]: scale * result is added to it; may be x
  float scale = 1;
};
bool few_experts_take(int num_used, int hidden, int inner);
void run_few_experts(StreamHandle stream, const FewExpertsArgs& args);

}  // namespace kvasir::ops::cuda

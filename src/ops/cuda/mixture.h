#pragma once

#include <cstdint>

#include "ops/cuda/stream.h"
#include "ops/types/activation.h"
#include "ops/types/router_score.h"

// A mixture of experts that needs nothing from the host. A slot is one row at one expert; slots are sorted by
// expert.
namespace kvasir::ops::cuda {

inline constexpr int kMaxRoutedExperts = 512;
inline constexpr int kMaxUsedExperts = 32;

// Picks as ops::route does, without groups of experts.
struct RouteRowsArgs {
  RouterScore score = RouterScore::softmax;
  int rows = 0;
  int num_experts = 0;
  int num_used = 0;
  float scale = 1;
  enum class Weights : std::uint8_t { as_scored, renormalized } weights_are = Weights::renormalized;
  const float* logits = nullptr;          // [rows, experts]
  const float* selection_bias = nullptr;  // [experts], or null
  std::int32_t* experts = nullptr;        // [rows, used], best first
  float* weights = nullptr;               // [rows, used]
};
void route_rows(StreamHandle stream, const RouteRowsArgs& args);

struct AssignSlotsArgs {
  int num_slots = 0;  // rows times used
  int num_used = 0;
  int num_experts = 0;
  const std::int32_t* experts = nullptr;  // [rows, used]
  std::int32_t* slots = nullptr;          // [rows, used]
  std::int32_t* slot_rows = nullptr;      // [slots]
  std::int32_t* first_slots = nullptr;    // [experts + 1]
};
void assign_slots(StreamHandle stream, const AssignSlotsArgs& args);

// For each slot s: y[s] = w x, or activation(g) * u with w x = [g, u], where w is the matrix of the slot's
// expert. In bf16. A slot's result does not depend on the other slots, but it depends on how many there are.
struct ExpertProductArgs {
  enum class Form : std::uint8_t { plain, gated } form = Form::plain;
  Activation activation = Activation::silu;
  int num_slots = 0;
  int num_experts = 0;
  int cols = 0;  // a multiple of 8
  int out = 0;
  const std::int32_t* first_slots = nullptr;  // [experts + 1]
  const std::int32_t* x_rows = nullptr;       // [slots]: rows of x; null: slot s has row s
  const void* x = nullptr;                    // [.., cols]
  const void* const* w = nullptr;             // [experts]: each is [out, cols], or [2 * out, cols] if gated
  void* y = nullptr;                          // [slots, out]
};
void multiply_experts(StreamHandle stream, const ExpertProductArgs& args);

}  // namespace kvasir::ops::cuda

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/cpu/context.h"
#include "ops/types/router_score.h"

namespace kvasir::ops {

// How a mixture picks the experts of a token.
struct RouterArgs {
  RouterScore score = RouterScore::softmax;
  int num_experts = 0;
  int num_used = 0;               // of each row
  int num_groups = 1;             // experts form groups of equal size...
  int used_groups = 1;            // ...and only those of the best groups are picked from
  bool group_by_top_two = false;  // a group's worth: the sum of its two best scores, else its best
  bool renormalize = true;        // a row's weights add up to `scale`
  float scale = 1;
  std::span<const float> selection_bias;  // [experts], or empty; affects the picks, but not the weights
};

// The experts of each row and their weights, and the rows of each expert. A slot is one row at one expert;
// slots are sorted by expert, and by row within.
struct ExpertPlan {
  int num_used = 0;
  std::vector<std::int32_t> experts;      // [rows, used], best first
  std::vector<float> weights;             // [rows, used]
  std::vector<std::int32_t> slots;        // [rows, used]
  std::vector<std::int32_t> slot_rows;    // [slots]
  std::vector<std::int32_t> first_slots;  // [experts + 1]: the slots of expert e are [e], up to [e + 1]
};

// Reuses the memory of `plan`. A row's experts and weights depend on its own logits alone.
void route(const RouterArgs& args, std::span<const float> logits /* [rows, experts] */, ExpertPlan& plan);

// slots[s] = rows[plan.slot_rows[s]]
void gather_rows(Context& context, const ExpertPlan& plan,
                 std::span<const float> rows,  // [rows, dim]
                 std::span<float> slots);      // [slots, dim]

// A row becomes the weighted sum of its slots, added in the order of its experts.
void combine_slots(Context& context, const ExpertPlan& plan,
                   std::span<const float> slots,  // [slots, dim]
                   std::span<float> rows);        // [rows, dim]

}  // namespace kvasir::ops

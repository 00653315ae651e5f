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
  int num_used = 0;               // experts for each row
  int num_groups = 1;             // experts form this many groups of equal size
  int used_groups = 1;            // experts are picked from this many of the best groups only
  bool group_by_top_two = false;  // true: rank a group by the sum of its two best scores; false: by its best
  bool renormalize = true;        // a row's weights add up to `scale`
  float scale = 1;
  std::span<const float> selection_bias;  // [experts], or empty; affects which are picked, not their weights
};

// Which experts each row uses with which weights, and which rows each expert gets. A slot is one row at one
// expert. Slots are sorted by expert, and within an expert by row.
struct ExpertPlan {
  int num_used = 0;
  std::vector<std::int32_t> experts;      // [rows, used], best first
  std::vector<float> weights;             // [rows, used]
  std::vector<std::int32_t> slots;        // [rows, used]
  std::vector<std::int32_t> slot_rows;    // [slots]
  std::vector<std::int32_t> first_slots;  // [experts + 1]: expert e has the slots from [e] to [e + 1] - 1
};

// Fills `plan`, reusing its memory. A row's experts and weights depend on its own logits only.
void route(const RouterArgs& args, std::span<const float> logits /* [rows, experts] */, ExpertPlan& plan);

// slots[s] = rows[plan.slot_rows[s]]
void gather_rows(Context& context, const ExpertPlan& plan,
                 std::span<const float> rows,  // [rows, dim]
                 std::span<float> slots);      // [slots, dim]

// Sets each row to the weighted sum of its slots, added in the order of the row's experts.
void combine_slots(Context& context, const ExpertPlan& plan,
                   std::span<const float> slots,  // [slots, dim]
                   std::span<float> rows);        // [rows, dim]

}  // namespace kvasir::ops

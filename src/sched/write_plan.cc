#include "sched/write_plan.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace kvasir::sched {

using kv::kNoBlock;

StepPlan write_plan(std::span<Grant* const> grants, std::span<const Sequence* const> preempted) {
  StepPlan plan;
  for (const Sequence* sequence : preempted) plan.preempted.push_back(sequence->id);
  std::size_t num_ids = 0;
  for (const Grant* grant : grants)
    num_ids += static_cast<std::size_t>(grant->num_old_blocks()) + grant->new_blocks.size();
  plan.block_ids = std::make_unique_for_overwrite<kv::BlockId[]>(num_ids);
  kv::BlockId* next_id = plan.block_ids.get();
  plan.slices.reserve(grants.size());
  for (const Grant* grant : grants) {
    if (grant->num_rows == 0) continue;
    const Sequence& sequence = *grant->sequence;
    StepPlan::Slice slice{.sequence = sequence.id,
                          .request = &sequence.request,
                          .known = sequence.tokens,
                          .matcher = sequence.matcher.get(),
                          .num_in_flight = sequence.num_in_flight,
                          .num_prompt = sequence.num_prompt,
                          .num_computed = grant->num_computed,
                          .num_rows = grant->num_rows,
                          .num_new_blocks = static_cast<int>(grant->new_blocks.size()),
                          .wants_prompt_lines = sequence.wants_prompt_lines(),
                          .admitted = grant->admitted};
    const auto old =
        grant->admitted ? std::span<const kv::BlockId>(grant->hit.blocks) : sequence.blocks.ids();
    kv::BlockId* const first_id = next_id;
    next_id = std::ranges::copy(old, next_id).out;
    next_id = std::ranges::copy(grant->new_blocks, next_id).out;
    slice.blocks = {first_id, next_id};
    if (grant->hit.tail != kNoBlock) plan.copies.push_back({grant->hit.tail, grant->new_blocks.front()});
    plan.load.add(grant->num_computed, grant->num_rows);
    plan.slices.push_back(slice);
  }
  return plan;
}

}  // namespace kvasir::sched

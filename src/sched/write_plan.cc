#include "sched/write_plan.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace kvasir::sched {

using kv::kNoBlock;

namespace {

// Stores the full blocks of the prompt that the slice completes or has found in the cache.
void add_stores(const Sequence& sequence, const StepPlan::Slice& slice, StepPlan& plan) {
  if (!sequence.request.outlet) return;
  const int num_done = std::min(slice.num_computed + slice.num_rows, slice.num_prompt) / kv::kBlockTokens;
  for (auto i = static_cast<std::size_t>(sequence.num_stored); i < static_cast<std::size_t>(num_done); ++i)
    plan.stores.push_back({.slice = plan.slices.size(),
                           .index = i,
                           .from = slice.blocks[i],
                           .hash = sequence.chain.hashes()[i],
                           .to = sequence.request.outlet});
}

}  // namespace

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
    const std::size_t num_hit = grant->hit.blocks.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(grant->num_loaded); ++i)
      plan.loads.push_back(
          {sequence.arrived.images[num_hit + i - sequence.arrived.first], grant->new_blocks[i]});
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
                          .num_loaded = grant->num_loaded,
                          .admitted = grant->admitted};
    const auto old =
        grant->admitted ? std::span<const kv::BlockId>(grant->hit.blocks) : sequence.blocks.ids();
    kv::BlockId* const first_id = next_id;
    next_id = std::ranges::copy(old, next_id).out;
    next_id = std::ranges::copy(grant->new_blocks, next_id).out;
    slice.blocks = {first_id, next_id};
    if (grant->hit.tail != kNoBlock) plan.copies.push_back({grant->hit.tail, grant->new_blocks.front()});
    add_stores(sequence, slice, plan);
    plan.load.add(grant->num_computed, grant->num_rows);
    plan.slices.push_back(slice);
  }
  return plan;
}

}  // namespace kvasir::sched

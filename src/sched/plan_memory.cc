#include "sched/plan_memory.h"

#include <algorithm>
#include <ranges>

namespace kvasir::sched {

namespace {

// The most running sequences that a plan displaces for waiting ones. Their tokens are computed again, or
// found in the prefix tree.
constexpr int kMostDisplaced = 8;

// Blocks that a running sequence still needs. A held one has no claim.
int num_wanted(const Sequence& running) {
  if (running.held) return 0;
  return 1 + std::max(0, kv::blocks_for(running.num_tokens()) - running.blocks.size());
}

}  // namespace

PlanMemory::PlanMemory(const SchedulerState& state)
    : s_(state), ledger_(state.pool), claims_(state), num_spare_(state.pool.num_available()) {
  for (const Sequence* running : s_.running) num_spare_ -= num_wanted(*running);
}

bool PlanMemory::is_preempted(const Sequence* sequence) const {
  return std::ranges::find(preempted_, sequence) != preempted_.end();
}

bool PlanMemory::spare_blocks(const Sequence& sequence, int num_needed) {
  while (num_needed > num_spare_)
    if (!preempt_held()) return false;
  num_spare_ -= num_needed;
  claims_.count_admitted(sequence);
  return true;
}

int PlanMemory::num_held_blocks() const {
  int num = 0;
  for (const Sequence* sequence : s_.running)
    if (sequence->held && !is_preempted(sequence)) num += sequence->blocks.size();
  return num;
}

const Sequence* PlanMemory::displace_for(const Sequence& waiting) {
  if (num_displaced_ == kMostDisplaced || without_claim_.contains(waiting.share)) return nullptr;
  if (!claims_.may_displace(waiting)) return nullptr;
  for (const Sequence* running : s_.running | std::views::reverse) {
    if (running->held || is_preempted(running) || !claims_.must_yield(*running, waiting)) continue;
    ++num_displaced_;
    preempt(running);
    return running;
  }
  without_claim_.insert(waiting.share);
  return nullptr;
}

bool PlanMemory::preempt_for(const Sequence* sequence) {
  if (preempt_held()) return true;
  for (const Sequence* candidate : s_.running | std::views::reverse) {
    if (candidate == sequence) return false;
    if (is_preempted(candidate)) continue;
    preempt(candidate);
    return true;
  }
  return false;
}

bool PlanMemory::preempt_held() {
  for (const Sequence* candidate : s_.running | std::views::reverse) {
    if (!candidate->held || is_preempted(candidate)) continue;
    preempt(candidate);
    return true;
  }
  return false;
}

void PlanMemory::preempt(const Sequence* victim) {
  const int num_before = ledger_.num_available();
  preempted_.push_back(victim);
  claims_.count_preempted(*victim);
  ledger_.release(victim->blocks.ids());
  num_spare_ += ledger_.num_available() - num_before + num_wanted(*victim);
}

}  // namespace kvasir::sched

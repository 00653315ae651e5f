#pragma once

#include <unordered_set>
#include <vector>

#include "sched/block_ledger.h"
#include "sched/claims.h"
#include "sched/planner.h"

namespace kvasir::sched {

// The blocks that a plan may take, and the running sequences that it preempts. Belongs to one plan. Changes
// neither the pool nor a sequence.
class PlanMemory {
 public:
  explicit PlanMemory(const SchedulerState& state);

  BlockLedger& ledger() { return ledger_; }
  const Claims& claims() const { return claims_; }
  const std::vector<const Sequence*>& preempted() const { return preempted_; }
  bool is_preempted(const Sequence* sequence) const;

  // Sets `num_needed` blocks apart for a sequence that joins. Each running sequence keeps the blocks for all
  // tokens that it knows, and one block more, so that admission never causes a preemption right away.
  // Preempts held sequences if it must. False if even that is not enough.
  bool spare_blocks(const Sequence& sequence, int num_needed);
  // The number of available blocks that neither a running sequence nor one that joins has a claim on.
  int num_spare() const { return num_spare_; }
  int num_held_blocks() const;

  // Preempts the last in rank of the sequences that must give up their place for `waiting`. Null if there is
  // none, or if the plan has displaced enough.
  const Sequence* displace_for(const Sequence& waiting);

  // Preempts one running sequence so that `sequence` can have its blocks: a held one if there is one,
  // whatever its rank, since it waits for its reader and not for blocks; otherwise the last in rank. Apart
  // from held ones, no sequence that ranks before `sequence` is preempted, so the first in rank always
  // advances. False if there is none to preempt.
  bool preempt_for(const Sequence* sequence);

 private:
  bool preempt_held();
  void preempt(const Sequence* victim);

  const SchedulerState& s_;
  BlockLedger ledger_;
  Claims claims_;
  int num_spare_;
  int num_displaced_ = 0;
  std::vector<const Sequence*> preempted_;
  std::unordered_set<const RequestShare*> without_claim_;
};

}  // namespace kvasir::sched

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sched/planner.h"
#include "sched/step_plan.h"

namespace kvasir::sched {

// Why the request could never be served: no tokens, or more than all blocks together hold.
base::Status check_fits(const SchedulerOptions& options, const wire::GenerateRequest& request);

struct SchedulerStats {
  std::int64_t num_steps = 0;
  std::int64_t num_prefill_tokens = 0;  // rows of slices with more than one row
  std::int64_t num_decode_tokens = 0;   // rows of slices with one row
  std::int64_t num_cached_tokens = 0;   // of prompts, taken from the prefix cache
  std::int64_t num_output_tokens = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_finished = 0;
  std::int64_t num_failed = 0;
  std::int64_t num_aborted = 0;
};

// Continuous batching over one pool of blocks: a step is plan, run, commit. Sequences join and leave between
// any two steps. Where the device runs steps in the order of their begin(), the commit may be its two halves,
// and one more step be planned and begun between them. Touched by the engine thread only.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();

  base::Result<SequenceId> submit(wire::GenerateRequest request);
  // Drops a live sequence, wherever it is. No event follows.
  void abort(SequenceId id);
  // Leaves a live sequence out of plans until it is resumed.
  void hold(SequenceId id);
  void resume(SequenceId id);

  StepPlan plan() const { return make_plan(state_); }
  // Carries out the plan's bookkeeping with what the runner made of it. Nothing else may have changed since.
  std::vector<SequenceEvent> commit(const StepPlan& plan, StepResult result);
  // The half that needs no result: blocks change hands, and tokens count as computed or in flight. Nothing
  // else may have changed since the plan.
  void begin(const StepPlan& plan);
  // The other half, in the order of begin(). Rows of sequences that are gone by now are dropped.
  std::vector<SequenceEvent> finish(const StepPlan& plan, StepResult result);

  const SchedulerOptions& options() const { return state_.options; }
  const kv::BlockPool& pool() const { return state_.pool; }
  const SchedulerStats& stats() const { return stats_; }
  int num_running() const { return static_cast<int>(state_.running.size()); }
  int num_waiting() const { return static_cast<int>(state_.waiting.size()); }
  bool idle() const { return sequences_.empty(); }

 private:
  Sequence& find(SequenceId id);
  void give_credit(const StepPlan& plan, double seconds);
  void admit(const StepPlan::Slice& slice);
  void preempt(Sequence& sequence);
  void take_blocks(Sequence& sequence, const StepPlan::Slice& slice);
  // With what a slice of it came to; it may be gone afterwards.
  void advance(Sequence& sequence, const StepPlan::Slice& slice, StepResult::Outcome& outcome,
               wire::TokenEvent& event);
  void append(Sequence& sequence, wire::Token token, wire::TokenEvent& event);
  // Appends what the grammar leaves no choice about, so that it is fed in one step and never sampled.
  void append_forced(Sequence& sequence, wire::TokenEvent& event);
  static wire::FinishReason finish_at_limit(Sequence& sequence);
  void remove(Sequence& sequence);
  // Gives the blocks back; what is in them stays findable.
  void retire_blocks(Sequence& sequence);

  SchedulerState state_;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  SchedulerStats stats_;
  SequenceId next_id_ = 1;
  std::int64_t num_begun_ = 0;  // steps
};

}  // namespace kvasir::sched

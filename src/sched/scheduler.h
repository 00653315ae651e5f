#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "sched/outlook.h"
#include "sched/planner.h"
#include "sched/resumption.h"
#include "sched/step_plan.h"
#include "wire/activity.h"

namespace kvasir::sched {

// Fails if the request could never be served: it has no tokens, or more than all blocks hold.
base::Status check_fits(const SchedulerOptions& options, const wire::GenerateRequest& request);

struct SchedulerStats {
  std::int64_t num_steps = 0;
  std::int64_t num_prefill_tokens = 0;  // rows of slices with more than one row
  std::int64_t num_decode_tokens = 0;   // rows of slices with one row
  std::int64_t num_cached_tokens = 0;   // prompt tokens found in the prefix cache
  std::int64_t num_output_tokens = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_finished = 0;
  std::int64_t num_failed = 0;
  std::int64_t num_aborted = 0;
  std::int64_t num_loaded_blocks = 0;  // blocks that came from elsewhere and were used
  std::int64_t num_stored_blocks = 0;
  double busy_s = 0;          // of all steps
  double long_prompts_s = 0;  // of them, what prompts of wire::kLeastLongPrompt and more tokens took
};

// Continuous batching over one pool of blocks. A step is plan, run, commit; sequences join and leave between
// any two steps. If the device runs steps in the order of begin(), commit() may be split into begin() and
// finish(), and one more step may be planned and begun between them. Touched by the engine thread only.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();

  // Sets the time in seconds on the caller's clock, for the calls that follow. It serves `usage`, ages, and
  // the patience with arriving blocks. Plans use another clock, the sum of the steps' times, which stands
  // still between steps.
  void set_now(double now_s) { now_s_ = now_s; }

  base::Result<SequenceId> submit(wire::GenerateRequest request);
  // As above, for a caller that has called `replay_output` and knows that the output goes on.
  base::Result<SequenceId> submit(wire::GenerateRequest request, Resumption resumption);
  // Removes a live sequence in any state. No event follows.
  void abort(SequenceId id);
  // Excludes a live sequence from plans until it is resumed.
  void hold(SequenceId id);
  void resume(SequenceId id);

  // Lets sequences run whose blocks have come, or that have waited for them long enough. Called after
  // set_now, before plan.
  void take_arrivals();
  int num_awaiting() const { return num_awaiting_; }

  // Publishes in `index`, from now on and for other threads, which blocks of prefixes are cached.
  void publish_to(std::shared_ptr<kv::PublishedBlocks> index) { state_.tree.publish_to(std::move(index)); }

  StepPlan plan() const { return make_plan(state_); }
  // Does the plan's bookkeeping with the runner's result. Nothing else may have changed since the plan was
  // made.
  std::vector<SequenceEvent> commit(const StepPlan& plan, StepResult result);
  // The half of commit() that needs no result: assigns blocks, and counts tokens as computed or in flight.
  // Nothing else may have changed since the plan was made.
  void begin(const StepPlan& plan);
  // Brings a begun plan up to date once all plans before it are finished: its slices then know their tokens.
  // A slice no longer wants a token if its sequence has more by now, and has no request if its sequence is
  // gone.
  void refresh(StepPlan& plan) const;
  // The other half of commit(), called in the order of begin(). Rows of sequences that are gone are dropped.
  std::vector<SequenceEvent> finish(const StepPlan& plan, StepResult result);

  Outlook outlook() const;
  const SchedulerOptions& options() const { return state_.options; }
  const kv::BlockPool& pool() const { return state_.pool; }
  const SchedulerStats& stats() const { return stats_; }
  int num_running() const { return static_cast<int>(state_.running.size()); }
  int num_waiting() const { return static_cast<int>(state_.waiting.size()); }
  std::map<int, int> waiting_by_priority() const;
  bool idle() const { return sequences_.empty(); }
  // The live sequences, for those who watch the engine, as of the last set_now.
  std::vector<wire::LiveSequence> live() const;

 private:
  Sequence& find(SequenceId id);
  void give_credit(const StepPlan& plan, double seconds);
  double long_prompts_s(const StepPlan& plan, double seconds) const;
  void admit(const StepPlan::Slice& slice);
  void preempt(Sequence& sequence);
  void take_blocks(Sequence& sequence, const StepPlan::Slice& slice);
  // Applies the outcome of a slice. The sequence may be gone afterwards.
  void advance(Sequence& sequence, const StepPlan::Slice& slice, StepResult::Outcome& outcome,
               wire::TokenEvent& event);
  void append(Sequence& sequence, wire::Token token, wire::TokenEvent& event);
  void append_forced(Sequence& sequence, wire::TokenEvent& event);
  void take_arrival(Sequence& sequence);
  void remove(Sequence& sequence);
  int num_to_compute(const Sequence& sequence) const;
  // Returns the blocks to the pool. The prefix tree can still find their content.
  void retire_blocks(Sequence& sequence);

  SchedulerState state_;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  SchedulerStats stats_;
  SequenceId next_id_ = 1;
  std::int64_t num_begun_ = 0;  // number of begun steps
  int num_awaiting_ = 0;        // sequences that wait for their blocks
  double mean_output_;          // mean tokens of the answers that ended lately
  double mean_tail_ = 0;        // mean tokens that recent prompts found in a partly filled block
  RecentPrompts recent_;
  double now_s_ = 0;  // see set_now
};

}  // namespace kvasir::sched

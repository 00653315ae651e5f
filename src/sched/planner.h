#pragma once

#include <algorithm>
#include <vector>

#include "kv/block_pool.h"
#include "kv/prefix_tree.h"
#include "sched/sequence.h"
#include "sched/shares.h"
#include "sched/step_cost.h"
#include "sched/step_length.h"
#include "sched/step_plan.h"

namespace kvasir::sched {

// The part of the time that all lower classes together have while the highest class has work.
inline constexpr double kLowerShare = 0.05;

// The longest step while a higher class is expected back, unless the streams need more: `short_s`, but at
// least two and at most four steps of one row. One such step goes into reading the weights, so three quarters
// of the time are left for rows with four, and half with two.
inline double expecting_step_s(const StepCost& cost, double short_s) {
  const double one_row_s = cost.predict_s({.decode_sequences = 1});
  return std::clamp(short_s, 2 * one_row_s, 4 * one_row_s);
}

struct SchedulerOptions {
  int num_blocks = 0;
  int max_batch_tokens = 512;
  int max_batch_sequences = 64;
  // The target time of a step with running streams. If it is 0, the time is chosen for the SLOs, or, without
  // SLOs, only max_batch_tokens bounds the step.
  double target_step_s = 0.15;
  Slo slo;
  Slo least_slo;  // `slo` may fall to this if the device proves faster than expected; 0: it stays
  double short_step_s = 0.15;  // with SLOs: length of a step while no prompt is in a hurry
  // Prefill goes on even if the running streams alone fill the target. It gets this share of their time, and
  // at least one block, so that many streams slow a newcomer down but never lock it out.
  double prefill_share = 0.33;
  // Up to this many streams always run in one step, however long it takes. Larger steps gain little, since so
  // many streams already share the reading of the weights. Further streams may take turns.
  int min_batch_decodes = 256;
  bool prefix_cache = true;
  StepCost cost;  // the device's assumed costs before its first step
};

// Everything that a plan depends on.
struct SchedulerState {
  explicit SchedulerState(const SchedulerOptions& o)
      : options(o), pool(o.num_blocks), tree(pool), cost(o.cost) {}

  SchedulerOptions options;
  kv::BlockPool pool;
  kv::PrefixTree tree;
  StepCost cost;
  std::vector<Sequence*> running;  // by rank; each holds its blocks
  std::vector<Sequence*> waiting;  // by rank; none holds a block
  Shares shares;
  double lower_credit_s = 0;  // what lower classes may take of the time of the next steps
  double busy_s = 0;          // the sum of all steps' times: the clock that waiting is measured on
};

// Decides the next step. Changes nothing. The plan is empty only if no sequence can continue: none exists, or
// all are held or wait for their blocks.
StepPlan make_plan(const SchedulerState& state);

}  // namespace kvasir::sched

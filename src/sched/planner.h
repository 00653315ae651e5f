#pragma once

#include <vector>

#include "kv/block_pool.h"
#include "kv/prefix_tree.h"
#include "sched/sequence.h"
#include "sched/shares.h"
#include "sched/step_cost.h"
#include "sched/step_length.h"
#include "sched/step_plan.h"

namespace kvasir::sched {

struct SchedulerOptions {
  int num_blocks = 0;
  int max_batch_tokens = 512;
  int max_batch_sequences = 64;
  // A step that carries running streams should take no longer. 0: each step's length is chosen for the SLOs,
  // and without those chunks are left to max_batch_tokens alone.
  double target_step_s = 0.15;
  Slo slo;
  Slo least_slo;  // `slo` falls as far as this while the device is faster than it was thought; 0: it stays
  double short_step_s = 0.15;  // with SLOs: a step where no prompt is in a hurry
  // Prefill goes on even when the running streams alone fill the target: with this share of their time, and
  // with at least a block, so that many streams slow a newcomer down and never lock it out.
  double prefill_share = 0.33;
  // Streams of one step that are served together however long it takes: so many share the reading of the
  // weights that more of them gain little. Beyond them streams may take turns.
  int min_batch_decodes = 256;
  bool prefix_cache = true;
  StepCost cost;  // what is known of the device before its first step
};

// What a plan is made from.
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
  double lower_credit_s = 0;  // time that lower classes may take of the next steps, beside the highest one
  double busy_s = 0;               // that steps have taken: the time by which waiting is measured
};

// Decides the next step; changes nothing. Empty only when no sequence can go on: none is there, or all are
// held.
StepPlan make_plan(const SchedulerState& state);

}  // namespace kvasir::sched

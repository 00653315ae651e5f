#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvasir::wire {

// What one step computed, and how long its parts took.
struct StepRecord {
  // The rows of one sequence in the step.
  struct Slice {
    std::string request_id;
    std::string tenant;
    int num_rows = 0;
    bool is_prompt = false;  // the rows are tokens of the prompt, not of the answer
  };
  static constexpr std::size_t kMaxSlices = 64;

  std::uint64_t number = 0;  // from 1; numbers ascend, with gaps for the steps that were not recorded
  double started_s = 0;      // on the worker's monotonic clock
  double plan_s = 0;
  double run_s = 0;
  double commit_s = 0;
  double predicted_s = 0;  // the cost model's prediction for `run_s`
  int num_preempted = 0;
  int num_other_rows = 0;     // rows of the slices beyond kMaxSlices
  std::vector<Slice> slices;  // at most kMaxSlices
};

// A sequence that runs or waits.
struct LiveSequence {
  std::string request_id;
  std::string tenant;
  int priority = 0;
  bool runs = false;
  bool held = false;  // not in steps now, because its reader is slow
  int num_prompt = 0;
  int num_cached = 0;  // prompt tokens from the prefix cache
  int num_computed = 0;
  int num_output = 0;
  int max_output = 0;
  int num_blocks = 0;
  double age_s = 0;  // since its arrival
};

// Sums since the worker's start.
struct WorkerCounters {
  std::int64_t steps = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  std::int64_t aborted = 0;
  double step_s = 0;

  WorkerCounters& operator+=(const WorkerCounters& other) {
    steps += other.steps;
    prefill_tokens += other.prefill_tokens;
    decode_tokens += other.decode_tokens;
    cached_tokens += other.cached_tokens;
    output_tokens += other.output_tokens;
    preemptions += other.preemptions;
    finished += other.finished;
    failed += other.failed;
    aborted += other.aborted;
    step_s += other.step_s;
    return *this;
  }
};

// What a worker is doing, for a viewer.
struct Activity {
  double now_s = 0;  // on the same clock as StepRecord::started_s
  WorkerCounters counters;
  std::vector<StepRecord> steps;
  std::vector<LiveSequence> sequences;  // running ones first, each group by rank
};

}  // namespace kvasir::wire
